import { isPort } from '../../../base/checks.js';
import { errnoByCode } from '../../../base/error-codes.js';
import { FabricError } from '../../../base/errors.js';
import type { Cap } from '../../../base/flags.js';
import type { AnyInfo, DomainAttr, Info, RxAttr, TxAttr } from '../../../contract/info-types.js';
import type { Counter } from '../../../counter.js';
import type { Domain } from '../../../domain.js';
import type { DomainOptions } from '../../../domain-options.js';
import type { Endpoint } from '../../../endpoint/compose.js';
import type { WritableOptions } from '../../../endpoint/endpoint-option-values.js';
import { Fabric } from '../../../fabric.js';
import type { Asked, Hints } from '../../../info/hints.js';
import { getInfo } from '../../../info/info.js';
import { preferredEntry } from '../../../open.js';
import { DEFAULT_PORT, type Settings } from './settings.js';

/** A test's requirements of a provider. */
export interface Needs {
  readonly caps: readonly Cap[];
  readonly tx?: Asked<TxAttr>;
  readonly rx?: Asked<RxAttr>;
  readonly domain?: Asked<DomainAttr>;
  /** The local address, if the options do not set it. */
  readonly source?: Pick<Hints, 'srcAddr' | 'addrFormat'>;
  /** Options to set before the endpoint is enabled. */
  readonly options?: WritableOptions;
  /** Counts sends and receives. */
  readonly counters?: boolean;
}

/**
 * An endpoint with the calls of every test. At run time it has only the calls of the capabilities
 * that the test asked for.
 */
export type TestEndpoint = Endpoint<
  'FI_EP_RDM',
  'FI_MSG' | 'FI_TAGGED' | 'FI_RMA' | 'FI_ATOMIC' | 'FI_MULTI_RECV'
>;

/** The local address and the server's: fi_getinfo's node, service and FI_SOURCE. */
function addressHints(settings: Settings, given?: Partial<Hints>): Partial<Hints> {
  const { sourceAddress: node, sourcePort, destinationPort = DEFAULT_PORT } = settings;
  const host = settings.hostAddress ?? settings.host;
  const own = { ...(node !== undefined && { node }), flags: ['FI_SOURCE'] } as const;
  if (host !== undefined && !settings.oobExchange) {
    const source = node !== undefined || sourcePort !== undefined ? sourceOf(settings) : {};
    return { ...source, ...given, node: host, service: destinationPort };
  }
  if (given !== undefined) return given;
  if (settings.oobExchange && sourcePort === undefined) return node === undefined ? {} : own;
  return { ...own, service: sourcePort ?? DEFAULT_PORT };
}

// A client's local address needs a separate fi_getinfo call, because node and service are the
// server's.
function sourceOf(settings: Settings): Partial<Hints> {
  const { sourceAddress: node, sourcePort: service } = settings;
  const [found] = getInfo({
    fabricAttr: { provName: settings.provider },
    node,
    service,
    flags: ['FI_SOURCE'],
  });
  if (!found?.srcAddr) return {};
  return { srcAddr: found.srcAddr, addrFormat: found.addrFormat };
}

/** The hints of a test. */
function hintsOf(settings: Settings, needs: Needs): Hints {
  const { type, sizes, operation } = settings;
  const { threading, dataProgress, controlProgress } = settings;
  return {
    addrFormat: settings.addrFormat,
    ...addressHints(settings, needs.source),
    caps: needs.caps,
    ...(!settings.rxCqData && { mode: ['FI_CONTEXT', 'FI_CONTEXT2', 'FI_MSG_PREFIX'] as const }),
    epAttr: {
      type,
      ...(sizes.kind === 'one' && type === 'FI_EP_DGRAM' && { maxMsgSize: sizes.size }),
    },
    fabricAttr: { provName: settings.provider, name: settings.fabric },
    domainAttr: {
      name: settings.domain,
      ...(operation?.endsWith('data') && { cqDataSize: 4 }),
      ...needs.domain,
      threading,
      dataProgress,
      controlProgress,
    },
    txAttr: {
      ...needs.tx,
      ...(settings.deliveryComplete && { opFlags: ['FI_DELIVERY_COMPLETE'] }),
      ...(settings.injectSize !== undefined && { injectSize: settings.injectSize }),
    },
    rxAttr: needs.rx,
  };
}

/** What to do if no endpoint matches. */
export const LISTED = 'npx libfabric info lists the available endpoints';

/** Throws if the provider has no endpoint at all, before the server waits for a client. */
export function checkProvider({ provider }: Settings): void {
  if (!isNameless(provider) || getInfo({ fabricAttr: { provName: provider } }).length > 0) return;
  throw new FabricError(errnoByCode.FI_ENODATA, 'fi_getinfo', {
    detail: `${provider} has no endpoint on this machine`,
    hint: /efa/.test(`${provider}`) ? 'npx libfabric doctor shows the reason' : LISTED,
  });
}

/**
 * The entry of getInfo() that a test runs on. `near` is the local address of the out-of-band
 * connection. If the options select no source address, an entry of that address is preferred.
 */
export function findEntry(settings: Settings, needs: Needs, near?: string): Info {
  const entries = entriesFor(settings, needs, near);
  const preferred = preferredEntry(entries, settings.fabric);
  const found = preferred && (everywhere(preferred, settings, needs) ?? preferred);
  if (found === undefined) {
    const { provider, fabric, type = 'FI_EP_RDM', domain, rxCqData, host } = settings;
    const service = host === undefined ? settings.sourcePort : settings.destinationPort;
    const where = [
      provider && `on ${provider}`,
      domain && `with domain ${domain}`,
      service && !isPort(service) && `with service ${service}`,
      fabric === 'efa-direct' && !rxCqData && 'without FI_RX_CQ_DATA; -f efa needs no such mode',
    ];
    throw new FabricError(errnoByCode.FI_ENODATA, 'fi_getinfo', {
      detail: `no ${type} endpoint with ${needs.caps.join(', ')} ${where.filter(Boolean).join(' ')}`,
      hint: LISTED,
    });
  }
  if (settings.prefix && !found.txAttr.mode.includes('FI_MSG_PREFIX')) {
    throw new FabricError(errnoByCode.FI_ENODATA, 'fi_getinfo', {
      detail: `-k: ${found.fabricAttr.provName} does not use FI_MSG_PREFIX`,
    });
  }
  return found as Info;
}

function entriesFor(settings: Settings, needs: Needs, near: string | undefined) {
  const asks = near !== undefined && settings.oobExchange && settings.sourceAddress === undefined;
  if (asks && !isNameless(settings.provider)) {
    const entries = getInfo(hintsOf({ ...settings, sourceAddress: near }, needs));
    if (entries.length > 0) return entries;
  }
  return getInfo(hintsOf(settings, needs));
}

// A server that is bound to no NIC listens at every address, so that `localhost` and the host's name
// reach it. tcp does so on its own since libfabric 1.18.
function everywhere(found: AnyInfo, settings: Settings, needs: Needs): AnyInfo | undefined {
  const { host, sourceAddress, domain, fabric, addrFormat, oobExchange } = settings;
  const { srcAddr, fabricAttr } = found;
  const bound = [host, sourceAddress, domain, fabric, addrFormat, needs.source];
  if (oobExchange || bound.some((each) => each !== undefined)) return undefined;
  if (!srcAddr || !fabricAttr.provName?.startsWith('tcp')) return undefined;
  const any = anyAddress(srcAddr);
  const source = { srcAddr: any, addrFormat: found.addrFormat };
  return getInfo(hintsOf(settings, { ...needs, source })).find(
    (entry) =>
      entry.fabricAttr.provName === fabricAttr.provName &&
      entry.srcAddr &&
      Buffer.compare(any, entry.srcAddr) === 0,
  );
}

// The family and the port of a struct sockaddr, with an address of zeros.
function anyAddress(address: Uint8Array): Uint8Array {
  const any = new Uint8Array(address.length);
  any.set(address.subarray(0, 4));
  return any;
}

/** Whether host names cannot resolve to a provider's addresses. */
export const isNameless = (provider: string | undefined) =>
  provider !== undefined && /(^|;)(efa|shm)(;|$)/.test(provider);

/** An endpoint with its fabric, domain and counters. */
export interface OpenedEndpoint {
  readonly fabric: Fabric;
  readonly domain: Domain;
  readonly ep: TestEndpoint;
  /** Set if the test asked for counters. */
  readonly counters: Counters | undefined;
}

export interface Counters {
  readonly sends: Counter;
  readonly receives: Counter;
}

/** How an endpoint is opened. */
export interface OpenOptions {
  /** What drives the engine. Default: the caller (`'manual'`). */
  readonly driver?: DomainOptions['driver'];
  /** Options to set before the endpoint is enabled. */
  readonly options?: WritableOptions;
  /** Bind counters of sends and receives. */
  readonly counters?: boolean;
}

/**
 * Opens an endpoint on an entry, with its own fabric, domain, completion queue and address vector.
 */
export async function openEndpoint(
  info: Info,
  { driver = 'manual', options = {}, counters: counts = false }: OpenOptions = {},
): Promise<OpenedEndpoint> {
  const fabric = Fabric.open(info);
  try {
    const domain = fabric.domain(info, { driver });
    const cq = domain.completionQueue();
    const counters = counts ? { sends: domain.counter(), receives: domain.counter() } : undefined;
    const ep = domain.endpoint(info, {
      av: domain.addressVector(),
      cq,
      options,
      ...(counters && {
        counters: [
          { counter: counters.sends, flags: ['FI_SEND'] },
          { counter: counters.receives, flags: ['FI_RECV'] },
        ],
      }),
    });
    return { fabric, domain, ep: ep as unknown as TestEndpoint, counters };
  } catch (error) {
    await fabric.close();
    throw error;
  }
}
