import { checkService } from '../base/checks.js';
import { atCallerOf, invalidArgType } from '../base/errors.js';
import type { Cap } from '../base/flags.js';
import { isRevoked } from '../base/objects.js';
import type { AnyInfo, Info } from '../contract/info-types.js';
import { type NativeInfo, native } from '../contract/native.js';
import type { CapsOf, EpTypeOf, Hints } from './hints.js';

const handles = new WeakMap<object, NativeInfo>();
const requested = new WeakMap<object, ReadonlySet<string>>();

/** @internal The prototype of all entries. */
export const infoPrototype: object = {};

function entryOf([data, handle]: [data: object, handle: NativeInfo]): Info {
  const entry = Object.freeze(Object.assign(Object.create(infoPrototype), data));
  handles.set(entry, handle);
  return entry as Info;
}

/**
 * Lists the ways to open an endpoint on this machine that match the hints, the fastest first
 * (fi_getinfo(3)). With an entry you open a fabric, a domain and an endpoint.
 *
 * An entry has every attribute that the hints name. The provider chooses the others, except those
 * that this package handles for its caller. Unless the hints set them, these are
 * - `mode`: FI_CONTEXT, FI_CONTEXT2, FI_MSG_PREFIX, FI_RX_CQ_DATA;
 * - `domainAttr.threading`: FI_THREAD_DOMAIN;
 * - `domainAttr.mrMode`: FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY.
 *
 * `getInfo(null)` passes no hints: it returns every provider's own preference, as fi_info(1) does.
 * These entries may need modes that this package does not support.
 *
 * Entries are deeply frozen, and the bytes in them are copies. If nothing matches (FI_ENODATA), the
 * array is empty.
 *
 * @throws FabricError for other failures of fi_getinfo.
 * @throws TypeError or RangeError (`ERR_INVALID_ARG_TYPE`, `ERR_INVALID_ARG_VALUE`,
 * `ERR_OUT_OF_RANGE`) for invalid hints, with the path of the invalid one.
 *
 * @example
 * ```ts
 * const [info] = getInfo({
 *   fabricAttr: { provName: 'shm' },
 *   epAttr: { type: 'FI_EP_RDM' },
 *   caps: ['FI_MSG', 'FI_TAGGED'],
 * }); // Info<'FI_EP_RDM', 'FI_MSG' | 'FI_TAGGED'> | undefined
 * ```
 */
export function getInfo(hints?: null): Info[];
export function getInfo<const H extends Hints>(hints: H): Info<EpTypeOf<H>, CapsOf<H>>[];
export function getInfo(hints?: Hints | null): Info[] {
  try {
    if (isRevoked(hints)) throw invalidArgType('hints', 'an object', hints);
    checkServiceOf(hints);
    return native.getinfo(hints).map((found) => {
      const entry = entryOf(found);
      if (hints?.caps) requested.set(entry, new Set<string>(hints.caps));
      return entry;
    });
  } catch (error) {
    throw atCallerOf(getInfo, error);
  }
}

// Providers pass the text to getaddrinfo(3). The addon checks everything else.
function checkServiceOf(hints: Hints | null | undefined): void {
  const service: unknown = hints?.service;
  if (typeof service === 'string') checkService('hints.service', service);
}

/**
 * Like {@link getInfo}, but with the hints of fi_info(1): if the hints name no modes, all are
 * accepted; if only node, service or flags are given, there are no hints; and entries are returned
 * as the providers made them.
 */
export function queryInfo(hints: Hints): Info[] {
  checkServiceOf(hints);
  return native.query(hints).map(entryOf);
}

/**
 * libfabric's own text of an entry, as `fi_info -v` prints it: fi_tostr of FI_TYPE_INFO,
 * fi_fabric(3). It is meant for people; its form depends on the version of libfabric.
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for an object that getInfo() did not return.
 */
export function infoToString(info: AnyInfo): string {
  return native.infoToString(infoHandle(info));
}

/**
 * The sorted names of the providers that can open an endpoint on this machine.
 *
 * @throws FabricError with the code of fi_getinfo(3).
 */
export function providers(): string[] {
  const names = getInfo(null).map((info) => info.fabricAttr.provName ?? '');
  return [...new Set(names)].sort();
}

/** The native handle of an entry. Throws for an object that getInfo() did not return. */
export function infoHandle(info: AnyInfo, name = 'info'): NativeInfo {
  const handle = handles.get(info);
  if (handle === undefined) throw invalidArgType(name, 'an entry of getInfo()', info);
  return handle;
}

/** Whether this capability was requested for an entry. Providers also offer unrequested ones. */
export function wasRequested(info: AnyInfo, cap: Cap): boolean {
  return requested.get(info)?.has(cap) ?? true;
}
