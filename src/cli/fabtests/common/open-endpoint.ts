import type { Counter } from '../../../counter.js';
import type { Domain, DomainOptions } from '../../../domain.js';
import type { Endpoint } from '../../../endpoint/compose.js';
import type { WritableOptions } from '../../../endpoint-option-values.js';
import { errnoByCode } from '../../../error-codes.js';
import { FabricError } from '../../../errors.js';
import { Fabric } from '../../../fabric.js';
import type { Cap } from '../../../flags.js';
import type { Asked, Hints } from '../../../hints.js';
import { getInfo } from '../../../info.js';
import type { DomainAttr, Info, RxAttr, TxAttr } from '../../../info-types.js';
import { preferredEntry } from '../../../open.js';
import type { Settings } from './settings.js';

/** What a test asks of a provider. */
export interface Needs {
  readonly caps: readonly Cap[];
  readonly tx?: Asked<TxAttr>;
  readonly rx?: Asked<RxAttr>;
  readonly domain?: Asked<DomainAttr>;
  /** The own address, where it is not the options that say which. */
  readonly source?: Pick<Hints, 'srcAddr' | 'addrFormat'>;
  /** Endpoint options to set before it is enabled. */
  readonly options?: WritableOptions;
  /** Counts sends and receives. */
  readonly counters?: boolean;
}

/**
 * An endpoint with whatever calls a test has asked for. Those it did not ask for are not there at
 * run time.
 */
export type TestEndpoint = Endpoint<
  'FI_EP_RDM',
  'FI_MSG' | 'FI_TAGGED' | 'FI_RMA' | 'FI_ATOMIC' | 'FI_MULTI_RECV'
>;

const DEFAULT_PORT = '9228';

/** Where to be, and whom to reach: fi_getinfo's node, service and FI_SOURCE. */
function whereabouts(settings: Settings, given?: Partial<Hints>): Partial<Hints> {
  const { host, sourceAddress: node, sourcePort, destinationPort = DEFAULT_PORT } = settings;
  const own = { ...(node !== undefined && { node }), flags: ['FI_SOURCE'] } as const;
  if (host !== undefined && !settings.oobExchange) {
    const source = node !== undefined || sourcePort !== undefined ? sourceOf(settings) : {};
    return { ...source, ...given, node: host, service: destinationPort };
  }
  if (given !== undefined) return given;
  if (settings.oobExchange && sourcePort === undefined) return node === undefined ? {} : own;
  return { ...own, service: sourcePort ?? DEFAULT_PORT };
}

// A client's own address takes a question of its own: node and service are the server's.
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
    ...whereabouts(settings, needs.source),
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

/**
 * The entry of getInfo() that a test runs on. `near` is the own address of the connection beside the
 * fabric: where nothing else was asked for, the other side is reached from there.
 */
export function findEntry(settings: Settings, needs: Needs, near?: string): Info {
  const entries = entriesFor(settings, needs, near);
  const found = preferredEntry(entries, settings.fabric);
  if (found === undefined) {
    const { provider, type = 'FI_EP_RDM', domain } = settings;
    const where = [provider && `on ${provider}`, domain && `with domain ${domain}`];
    throw new FabricError(errnoByCode.FI_ENODATA, 'fi_getinfo', {
      detail: `no ${type} endpoint with ${needs.caps.join(', ')} ${where.filter(Boolean).join(' ')}`,
      hint: 'fi_info shows what there is',
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

/** Whether a provider's addresses are none that a host name stands for. */
export const isNameless = (provider: string | undefined) =>
  provider !== undefined && /(^|;)(efa|shm)(;|$)/.test(provider);

/** An endpoint and what it is opened with. */
export interface OpenedEndpoint {
  readonly fabric: Fabric;
  readonly domain: Domain;
  readonly ep: TestEndpoint;
  /** Where they were asked for. */
  readonly counters: Counters | undefined;
}

export interface Counters {
  readonly sends: Counter;
  readonly receives: Counter;
}

/** How an endpoint is opened. */
export interface OpenOptions {
  /** Who turns the engine: the caller (`'manual'`) when left out. */
  readonly driver?: DomainOptions['driver'];
  /** Options to set before the endpoint is enabled. */
  readonly options?: WritableOptions;
  /** Count sends and receives. */
  readonly counters?: boolean;
}

/** Opens an endpoint on an entry, with a fabric, a domain, a queue and an address vector of its own. */
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
