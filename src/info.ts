import { atCallerOf, invalidArgType } from './errors.js';
import type { Cap } from './flags.js';
import type { CapsOf, EpTypeOf, Hints } from './hints.js';
import type { AnyInfo, Info } from './info-types.js';
import { type NativeInfo, native } from './native.js';

const handles = new WeakMap<object, NativeInfo>();
const requested = new WeakMap<object, ReadonlySet<string>>();

/**
 * What this machine offers: one entry for every way to open an endpoint that meets the hints, the
 * fastest first (fi_getinfo(3)). An entry opens a fabric, a domain and an endpoint.
 *
 * Hints ask: what they name an entry must have, what they leave out is the provider's choice, except
 * for what this package does for its caller anyway. Without a word in the hints these are
 * - `mode`: FI_CONTEXT, FI_CONTEXT2, FI_MSG_PREFIX, FI_RX_CQ_DATA;
 * - `domainAttr.threading`: FI_THREAD_DOMAIN;
 * - `domainAttr.mrMode`: FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY.
 *
 * `getInfo(null)` asks without hints: every provider's own preference, as fi_info(1) shows it, which
 * may name modes that this package does not handle.
 *
 * Entries are deeply frozen; the bytes in them are copies. The array is empty where nothing matches
 * (FI_ENODATA).
 *
 * @throws FabricError for other failures of fi_getinfo.
 * @throws TypeError or RangeError (`ERR_INVALID_ARG_TYPE`, `ERR_INVALID_ARG_VALUE`,
 * `ERR_OUT_OF_RANGE`) for wrong hints, with the path of the wrong one.
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
    return native.getinfo(hints).map(([data, handle]) => {
      handles.set(data, handle);
      if (hints?.caps) requested.set(data, new Set<string>(hints.caps));
      return data as Info;
    });
  } catch (error) {
    throw atCallerOf(getInfo, error);
  }
}

/**
 * As {@link getInfo}, but asked as fi_info(1) asks: all modes are welcome where the hints do not say,
 * there are no hints where only node, service or flags are given, and entries are just as the
 * providers made them.
 */
export function queryInfo(hints: Hints): Info[] {
  return native.query(hints).map(([data, handle]) => {
    handles.set(data, handle);
    return data as Info;
  });
}

/**
 * libfabric's own text of an entry, which `fi_info -v` prints: fi_tostr of FI_TYPE_INFO,
 * fi_fabric(3). It is for people; its form changes with the version of libfabric.
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for anything that getInfo() did not return.
 */
export function infoToString(info: AnyInfo): string {
  return native.infoToString(infoHandle(info));
}

/** The names of the providers that can open something on this machine, sorted. */
export function providers(): string[] {
  const names = getInfo(null).map((info) => info.fabricAttr.provName ?? '');
  return [...new Set(names)].sort();
}

/** What native functions take for an entry; refuses any object that getInfo did not return. */
export function infoHandle(info: AnyInfo, name = 'info'): NativeInfo {
  const handle = handles.get(info);
  if (handle === undefined) throw invalidArgType(name, 'an entry of getInfo()', info);
  return handle;
}

/** Whether an entry was asked for with this capability; providers offer some unasked. */
export function wasRequested(info: AnyInfo, cap: Cap): boolean {
  return requested.get(info)?.has(cap) ?? true;
}
