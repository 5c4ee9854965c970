import { lookup } from 'node:dns/promises';
import type { AddressVectorOptions } from './address-vector.js';
import { checkObject, checkOptions, isPort, namesOf } from './base/checks.js';
import { errnoByCode } from './base/error-codes.js';
import { FabricError, invalidArgType } from './base/errors.js';
import type { Cap, Mode, MsgOrder, OpenableEpType, TrafficClass } from './base/flags.js';
import { nearestName } from './base/nearest-name.js';
import { isArray } from './base/objects.js';
import type { CompletionQueueOptions } from './completion-queue.js';
import type { AnyInfo, Flags, RxAttr, TxAttr } from './contract/info-types.js';
import type { Counter } from './counter.js';
import { DOMAIN_NAMES, type DomainOptions } from './domain-options.js';
import type { Endpoint } from './endpoint/compose.js';
import type { WritableOptions } from './endpoint/endpoint-option-values.js';
import { Fabric } from './fabric.js';
import type { Asked, Hints } from './info/hints.js';
import { getInfo, providers } from './info/info.js';
import { checkOpenable } from './info/openable.js';

/** The criteria of open() for an entry, and how it opens the entry. */
export interface OpenOptions<
  T extends OpenableEpType = OpenableEpType,
  C extends Cap = Cap,
  N extends string = string,
> extends DomainOptions {
  /** `'efa'`, `'shm'`, `'tcp'`, ... If omitted, libfabric's first choice. */
  readonly provider?: string;
  /** `'FI_EP_RDM'` if omitted. */
  readonly type?: T;
  /** `['FI_MSG']` if omitted. */
  readonly caps?: readonly C[];
  /**
   * The mode bits that the program accepts: fi_getinfo(3). If omitted, all that this package supports.
   * Without FI_RX_CQ_DATA, writes with data consume no receives of efa-direct; the device must be able
   * to do that. With it, such a write waits for a posted receive, which completes with the flag
   * FI_REMOTE_WRITE and without bytes in its buffer.
   */
  readonly mode?: Flags<Mode>;
  /** The domain's name, usually the NIC's: `'rdmap0s6-rdm'`, `'eth0'`. */
  readonly domain?: string;
  /** The fabric's name. If omitted, open() prefers the fabric `'efa'` to `'efa-direct'`. */
  readonly fabric?: string;
  /** The local address that the endpoint binds to. */
  readonly node?: string;
  /** The local port, from 0 to 65535, or the name of a service. If omitted, any free port. */
  readonly service?: string;
  /** The libfabric API version to request, such as `'1.17'`. If omitted, `version().apiVersion`. */
  readonly apiVersion?: string;
  /**
   * Options to set before the endpoint is enabled: fi_setopt, fi_endpoint(3). If the provider does
   * not have an option, open() fails with FI_ENOPROTOOPT.
   */
  readonly options?: WritableOptions;
  /**
   * The traffic class of the operations that the endpoint sends: fi_endpoint(3). efa (2.1 and
   * later) maps FI_TC_LOW_LATENCY to a service level of the device. A provider without traffic
   * classes ignores it.
   */
  readonly tclass?: TrafficClass;
  /**
   * The order of operations in both directions. For one direction, set `txAttr.msgOrder` or
   * `rxAttr.msgOrder`. If all are omitted, RDM endpoints keep the messages of a sender in order if
   * the provider can (FI_ORDER_SAS). `[]` requests no order.
   */
  readonly msgOrder?: Flags<MsgOrder>;
  /**
   * Minimum transmit attributes: `{ size: 512 }` outstanding operations, `{ injectSize: 64 }`
   * bytes, ... If a small queue breaks a provider, open() makes it larger: see `endpoint.info.txAttr.size`.
   */
  readonly txAttr?: Asked<TxAttr>;
  /** Minimum receive attributes: `{ size: 1024 }` outstanding receives, ... */
  readonly rxAttr?: Asked<RxAttr>;
  /**
   * The timeout of the endpoint's operations in milliseconds: see EndpointOptions. If omitted, operations have
   * no timeout.
   */
  readonly timeout?: number;
  /** Options of the completion queue: its size and format. */
  readonly cq?: CompletionQueueOptions;
  /** Options of the address vector. */
  readonly av?: AddressVectorOptions;
  /**
   * Counters to open. The caller chooses each name and lists what the counter counts: FI_SEND,
   * FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE. `endpoint.counters` holds them.
   */
  readonly counters?: { readonly [Name in N]: readonly Cap[] };
}

/** The counters requested in open(), by name. */
export interface Counted<N extends string = string> {
  readonly counters: { readonly [Name in N]: Counter };
}

const DIRECT = 'efa-direct';

/**
 * Opens an endpoint and everything it needs, ready to use: a fabric, a domain, a completion queue, an
 * address vector, counters. Closing the endpoint or its domain closes all of them.
 *
 * @throws FabricError FI_ENODATA if no entry of fi_getinfo(3) matches the options;
 * FI_EADDRNOTAVAIL if `node` is a name that cannot be resolved.
 * @throws FabricError with the code of the libfabric call that failed: FI_ENOPROTOOPT for an option
 * that the provider does not have, FI_ENOSYS for counters it does not support, FI_ENOMEM.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE for
 * invalid options, including the type of a connected endpoint.
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
  const checked = checkOptions('options', options as OpenOptions | undefined, NAMES);
  const wanted = wantedCounters(checked.counters);
  const info = await findOrExplain(checked);
  const fabric = Fabric.open(info);
  try {
    const domain = fabric.domain(info, domainOptionsOf(checked));
    const cq = domain.completionQueue(checked.cq);
    const av = domain.addressVector(checked.av);
    const counters = wanted.map(({ name, flags }) => ({ name, flags, counter: domain.counter() }));
    const endpoint = domain.endpoint(info, {
      ...{ av, cq, counters: counters.map(({ counter, flags }) => ({ counter, flags })) },
      ...(checked.options !== undefined && { options: checked.options }),
      ...(checked.timeout !== undefined && { timeout: checked.timeout }),
    });
    endpoint.names(counters);
    endpoint.owns(domain);
    domain.owns(fabric);
    return endpoint as unknown as Endpoint<T, C> & Counted<N>;
  } catch (error) {
    await fabric.close();
    throw withAddress(error, checked);
  }
}

const OWN_NAMES = namesOf<Omit<OpenOptions, keyof DomainOptions>>({
  provider: 1,
  type: 1,
  caps: 1,
  mode: 1,
  domain: 1,
  fabric: 1,
  node: 1,
  service: 1,
  apiVersion: 1,
  options: 1,
  tclass: 1,
  msgOrder: 1,
  txAttr: 1,
  rxAttr: 1,
  timeout: 1,
  cq: 1,
  av: 1,
  counters: 1,
});
const NAMES = [...OWN_NAMES, ...DOMAIN_NAMES];

function domainOptionsOf(options: Partial<OpenOptions>): DomainOptions {
  const own = DOMAIN_NAMES.map((name) => [name, options[name]] as const);
  return Object.fromEntries(own.filter(([, value]) => value !== undefined));
}

function wantedCounters(counters: OpenOptions['counters']) {
  return Object.entries(checkObject('options.counters', counters)).map(([name, flags]) => {
    if (!isArray(flags)) throw invalidArgType(`options.counters.${name}`, 'an array', flags);
    return { name, flags: flags as readonly Cap[] };
  });
}

// Reports a name that cannot be resolved, instead of a provider without an endpoint.
async function findOrExplain(options: Partial<OpenOptions>): Promise<AnyInfo> {
  try {
    return find(options);
  } catch (error) {
    const { node, provider } = options;
    const resolves = node === undefined || NAMELESS.test(provider ?? '');
    if (resolves || !FabricError.is(error) || error.errno !== errnoByCode.FI_ENODATA) throw error;
    await lookup(node).catch((cause) => {
      const detail = `the host name ${node} cannot be resolved (${cause.code})`;
      throw new FabricError(errnoByCode.FI_EADDRNOTAVAIL, 'fi_getinfo', { detail, cause });
    });
    throw error;
  }
}

// Providers whose addresses are not IP addresses, so that no host name resolves to them.
const NAMELESS = /^(efa|shm|sm2)/;

// shm reports no entry if /dev/shm is too small.
const SPACE = ', and shm has some if /dev/shm has 16 MiB for each core (df /dev/shm, nproc)';

function find(options: Partial<OpenOptions>): AnyInfo {
  const { provider, type = 'FI_EP_RDM', caps = ['FI_MSG'], fabric, node } = options;
  checkOpenable('options.type', type);
  const hints = hintsOf(options, type, caps);
  const info = preferredEntry(getInfo(hints), fabric);
  if (info === undefined) {
    const more = (['msgOrder', 'txAttr', 'rxAttr'] as const).filter((name) => options[name]);
    const asked = [
      `${type} endpoint with ${caps.join(', ')}`,
      ...more.map((name) => `this ${name}`),
    ];
    const place = [
      provider && ` on ${provider}`,
      options.domain && ` with the domain ${options.domain}`,
      node && ` at ${node}`,
      options.service && `, service ${options.service}`,
    ].filter(Boolean);
    throw new FabricError(errnoByCode.FI_ENODATA, 'fi_getinfo', {
      detail: `no ${asked.join(' and ')}${place.join('')}`,
      hint: hintFor(provider, options.service),
    });
  }
  return inOrder(info, hints);
}

function hintFor(provider: string | undefined, service = ''): string {
  const entries = 'getInfo() lists the entries of this machine';
  const all =
    service === '' || isPort(service)
      ? entries
      : `a service is a port, or a name in /etc/services; ${entries}`;
  if (provider === undefined) return all;
  if (provider === 'efa') return `npx libfabric doctor shows the reason; ${all}`;
  if (provider === 'shm') return all + SPACE;
  const names = /^\w+$/.test(provider) ? providers() : [];
  const nearest = names.includes(provider) ? undefined : nearestName(provider, names);
  return nearest === undefined ? all : `did you mean '${nearest}'? ${all}`;
}

// Adds the address or port that the caller has chosen, because libfabric's error does not name them.
function withAddress(error: unknown, options: Partial<OpenOptions>): unknown {
  const { node, service, provider = '' } = options;
  if (!FabricError.is(error) || node === undefined || NAMELESS.test(provider)) return error;
  const { errno, syscall } = error;
  const place = service === undefined ? node : `${node}, service ${service}`;
  if (errno === errnoByCode.FI_EADDRNOTAVAIL) {
    const detail = `no network interface of this host has the address ${place}`;
    const hint = 'node is the local address of the endpoint, not that of its peer';
    return new FabricError(errno, syscall, { detail, hint, cause: error });
  }
  if (errno !== errnoByCode.FI_EADDRINUSE) return error;
  const hint = 'choose another service, or omit it for any free port';
  return new FabricError(errno, syscall, { detail: place, hint, cause: error });
}

function hintsOf(options: Partial<OpenOptions>, type: OpenableEpType, caps: readonly Cap[]) {
  const { provider, domain, fabric, node, service, apiVersion, tclass, msgOrder, mode } = options;
  return {
    apiVersion,
    ...(mode !== undefined && { mode }),
    epAttr: { type },
    caps,
    txAttr: { tclass, msgOrder, ...checkObject('options.txAttr', options.txAttr) },
    rxAttr: { msgOrder, ...checkObject('options.rxAttr', options.rxAttr) },
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

// efa of libfabric 2 keeps messages in order only if this is requested.
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
 * @internal The entry to open. `fabric` is the name that the caller requested, if any. Messages of
 * efa-direct are limited to one packet and arrive in any order, so it is used only on request.
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
