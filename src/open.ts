import type { AddressVectorOptions } from './address-vector.js';
import { checkOptions } from './checks.js';
import type { CompletionQueueOptions } from './completion-queue.js';
import type { Counter } from './counter.js';
import type { DomainOptions } from './domain.js';
import type { Endpoint } from './endpoint/compose.js';
import type { WritableOptions } from './endpoint-option-values.js';
import { FabricError, invalidArgType } from './errors.js';
import { Fabric } from './fabric.js';
import type { Cap, MsgOrder, OpenableEpType, TrafficClass } from './flags.js';
import type { Asked, Hints } from './hints.js';
import { getInfo } from './info.js';
import type { AnyInfo, Flags, RxAttr, TxAttr } from './info-types.js';
import { checkOpenable } from './openable.js';

/** What open() looks for, and how it opens what it finds. */
export interface OpenOptions<
  T extends OpenableEpType = OpenableEpType,
  C extends Cap = Cap,
  N extends string = string,
> extends DomainOptions {
  /** `'efa'`, `'shm'`, `'tcp'`, ...; the best there is when left out. */
  readonly provider?: string;
  /** `'FI_EP_RDM'` when left out. */
  readonly type?: T;
  /** `['FI_MSG']` when left out. */
  readonly caps?: readonly C[];
  /** The domain's name, usually the NIC's: `'rdmap0s6-rdm'`, `'eth0'`. */
  readonly domain?: string;
  /** The fabric's name. With efa, `'efa'` is taken before `'efa-direct'` when this is left out. */
  readonly fabric?: string;
  /** A local address to be reached at. */
  readonly node?: string;
  readonly service?: string;
  /** The version of the interfaces to speak, `'1.17'`; `version().apiVersion` when left out. */
  readonly apiVersion?: string;
  /**
   * Options to set before the endpoint is enabled: fi_setopt, fi_endpoint(3). FI_ENOPROTOOPT where the
   * provider does not know one.
   */
  readonly options?: WritableOptions;
  /**
   * The traffic class of what the endpoint sends: fi_endpoint(3). efa (2.1 and later) makes
   * FI_TC_LOW_LATENCY a service level of the device's. A provider that has no such thing ignores it.
   */
  readonly tclass?: TrafficClass;
  /**
   * The order of operations in both directions; for one direction, `txAttr.msgOrder` or
   * `rxAttr.msgOrder`. When all are left out, RDM endpoints keep the messages of a sender in order where
   * the provider can (FI_ORDER_SAS). `[]` asks for no order.
   */
  readonly msgOrder?: Flags<MsgOrder>;
  /** What sending must offer: `{ size: 512 }` operations outstanding, `{ injectSize: 64 }` bytes, ... */
  readonly txAttr?: Asked<TxAttr>;
  /** What receiving must offer: `{ size: 1024 }` receives outstanding, ... */
  readonly rxAttr?: Asked<RxAttr>;
  /** How the completion queue is opened: its size and format. */
  readonly cq?: CompletionQueueOptions;
  /** How the address vector is opened. */
  readonly av?: AddressVectorOptions;
  /**
   * Counters to open, by names of the caller's choice, and what each counts: FI_SEND, FI_RECV, FI_READ,
   * FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE. They are in `endpoint.counters`.
   */
  readonly counters?: { readonly [Name in N]: readonly Cap[] };
}

/** The counters that open() was asked for, by their names. */
export interface Counted<N extends string = string> {
  readonly counters: { readonly [Name in N]: Counter };
}

const ENODATA = 61;
const DIRECT = 'efa-direct';

/**
 * Opens an endpoint and everything it needs, ready to use: a fabric, a domain, a completion queue, an
 * address vector, counters. Closing the endpoint closes all of them, and so does closing its domain.
 *
 * @throws FabricError FI_ENODATA where nothing on this machine matches.
 * @throws TypeError or RangeError for wrong options, among them the type of a connected endpoint.
 *
 * @example
 * ```ts
 * const ep = await open({ provider: 'shm', caps: ['FI_MSG'] });
 * const peer = ep.av.insert(addressOfPeer);
 * await ep.send(Buffer.from('hello'), peer);
 * ```
 *
 * @example
 * ```ts
 * const ep = await open({
 *   provider: 'efa',
 *   caps: ['FI_MSG', 'FI_RMA'],
 *   tclass: 'FI_TC_LOW_LATENCY',
 *   options: { FI_OPT_EFA_USE_DEVICE_RDMA: true },
 *   cq: { size: 8192 },
 *   counters: { written: ['FI_WRITE'] },
 * });
 * await ep.counters.written.wait(64);
 * ```
 */
export async function open<
  const T extends OpenableEpType = 'FI_EP_RDM',
  const C extends Cap = 'FI_MSG',
  const N extends string = never,
>(options?: OpenOptions<T, C, N>): Promise<Endpoint<T, C> & Counted<N>> {
  const checked = checkOptions('options', options as OpenOptions | undefined);
  const wanted = wantedCounters(checked.counters);
  const info = find(checked);
  const fabric = Fabric.open(info);
  try {
    const domain = fabric.domain(info, checked);
    const cq = domain.completionQueue(checked.cq);
    const av = domain.addressVector(checked.av);
    const counters = wanted.map(({ name, flags }) => ({ name, flags, counter: domain.counter() }));
    const endpoint = domain.endpoint(info, {
      ...{ av, cq, counters },
      ...(checked.options !== undefined && { options: checked.options }),
    });
    endpoint.names(counters);
    endpoint.owns(domain);
    domain.owns(fabric);
    return endpoint as unknown as Endpoint<T, C> & Counted<N>;
  } catch (error) {
    await fabric.close();
    throw error;
  }
}

function wantedCounters(counters: OpenOptions['counters']) {
  return Object.entries(checkOptions('options.counters', counters)).map(([name, flags]) => {
    if (!Array.isArray(flags)) throw invalidArgType(`options.counters.${name}`, 'an array', flags);
    return { name, flags: flags as readonly Cap[] };
  });
}

function find(options: Partial<OpenOptions>): AnyInfo {
  const { provider, type = 'FI_EP_RDM', caps = ['FI_MSG'], fabric } = options;
  checkOpenable('options.type', type);
  const hints = hintsOf(options, type, caps);
  const info = preferredEntry(getInfo(hints), fabric);
  if (info === undefined) {
    const more = (['msgOrder', 'txAttr', 'rxAttr'] as const).filter((name) => options[name]);
    const asked = [
      `${type} endpoint with ${caps.join(', ')}`,
      ...more.map((name) => `this ${name}`),
    ];
    throw new FabricError(ENODATA, 'fi_getinfo', {
      detail: `no ${asked.join(' and ')}${provider ? ` on ${provider}` : ''}`,
      hint: 'see getInfo() for what there is',
    });
  }
  return inOrder(info, hints);
}

function hintsOf(options: Partial<OpenOptions>, type: OpenableEpType, caps: readonly Cap[]) {
  const { provider, domain, fabric, node, service, apiVersion, tclass, msgOrder } = options;
  return {
    apiVersion,
    epAttr: { type },
    caps,
    txAttr: { tclass, msgOrder, ...checkOptions('options.txAttr', options.txAttr) },
    rxAttr: { msgOrder, ...checkOptions('options.rxAttr', options.rxAttr) },
    ...(domain !== undefined && { domainAttr: { name: domain } }),
    fabricAttr: {
      ...(provider !== undefined && { provName: provider }),
      ...(fabric !== undefined && { name: fabric }),
    },
    ...((node !== undefined || service !== undefined) && {
      node,
      service,
      flags: ['FI_SOURCE'],
    }),
  } satisfies Hints;
}

// efa of libfabric 2 keeps messages in order where it was asked to.
function inOrder(info: AnyInfo, hints: ReturnType<typeof hintsOf>): AnyInfo {
  const msgOrder = ['FI_ORDER_SAS'] as const;
  const { txAttr, rxAttr } = hints;
  if (txAttr.msgOrder !== undefined || rxAttr.msgOrder !== undefined) return info;
  if (info.epAttr.type !== 'FI_EP_RDM' || info.rxAttr.msgOrder.includes(msgOrder[0])) return info;
  const ordered = getInfo({
    ...hints,
    txAttr: { ...txAttr, msgOrder },
    rxAttr: { ...rxAttr, msgOrder },
  });
  return ordered.find((entry) => isSame(entry, info)) ?? info;
}

const isSame = (a: AnyInfo, b: AnyInfo) =>
  a.fabricAttr.provName === b.fabricAttr.provName &&
  a.fabricAttr.name === b.fabricAttr.name &&
  a.domainAttr.name === b.domainAttr.name;

/**
 * @internal The entry to open, where a fabric may have been asked for. Messages of efa-direct are no
 * longer than a packet and come in any order: it is for those who ask.
 */
export function preferredEntry(
  entries: readonly AnyInfo[],
  fabric: string | undefined,
): AnyInfo | undefined {
  return (
    entries.find(({ fabricAttr }) => fabricAttr.name === fabric || fabricAttr.name !== DIRECT) ??
    entries[0]
  );
}
