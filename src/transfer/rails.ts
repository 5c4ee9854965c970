import { expecting } from '../base/channels.js';
import { FabricError } from '../base/errors.js';
import type { AnyInfo } from '../contract/info-types.js';
import { type Handle, type NativeRailCounters, native } from '../contract/native.js';
import type { RailState } from '../diagnostics/transfer-state.js';
import type { Domain } from '../domain.js';
import type { Endpoint } from '../endpoint/compose.js';
import { getInfo } from '../info/info.js';
import { version } from '../info/library.js';
import { numaNodeOf } from '../info/numa-node.js';
import { isSoftwareNic } from '../info/software-nic.js';
import { open } from '../open.js';
import { errnoOf } from './errors.js';

type RailEndpoint = Endpoint<'FI_EP_RDM', 'FI_MSG' | 'FI_RMA'>;

/** The states of native/transfer/rail.h. */
export const RAIL_STATES = [
  'up',
  'stalled',
  'failing',
  'broken',
] as const satisfies RailState['state'][];

/** One NIC of a transfer engine. */
export class Rail {
  readonly endpoint: RailEndpoint;
  readonly info: AnyInfo;
  /** The last state that was announced. */
  announced: RailState['state'] = 'up';
  /** Why it does nothing, if its provider is stuck. */
  stuck: string | undefined;
  readonly path: RailState['path'];
  /** Null if unknown. */
  readonly numaNode: number | null;

  constructor(endpoint: RailEndpoint) {
    this.endpoint = endpoint;
    this.info = endpoint.info;
    this.numaNode = numaNodeOf(endpoint.info);
    this.path = pathOf(endpoint);
  }

  get domain(): Domain {
    return this.endpoint.domain;
  }

  /** The domain's name. */
  get nic(): string {
    return this.info.domainAttr.name ?? '';
  }

  /** The native domain. */
  get handle(): Handle<'Domain'> {
    return this.endpoint.limits.engine.handle;
  }

  /** What its thread does: how often it has turned the domain, and whether it sleeps or registers memory. */
  get activity(): { turns: bigint | number; isIdle: boolean } {
    const { engine } = this.endpoint.limits;
    return { turns: engine.stats().turns, isIdle: engine.asleep || !engine.open };
  }

  state(index: number, counters: NativeRailCounters): RailState {
    const { fabricAttr, epAttr, nic } = this.info;
    const { state, sent: _, ...counts } = counters;
    return {
      index,
      nic: this.nic,
      provider: fabricAttr.provName ?? '',
      fabric: fabricAttr.name ?? '',
      protocol: epAttr.protocol,
      numaNode: this.numaNode,
      speed: nic?.linkAttr?.speed ? Number(nic.linkAttr.speed) : null,
      path: this.path,
      emulated: this.path !== 'rdma' || isSoftwareNic(this.info),
      state:
        state === 0 && this.stuck !== undefined
          ? 'stalled'
          : (RAIL_STATES[state] as RailState['state']),
      ...counts,
    };
  }
}

const isBroken = (rail: Rail | undefined) =>
  rail?.announced === 'broken' || rail?.stuck !== undefined;

/** The rails, with undefined in place of the broken ones. If all rails are broken, returns all of them. */
export function working(rails: readonly (Rail | undefined)[]): readonly (Rail | undefined)[] {
  if (rails.every((rail) => rail === undefined || isBroken(rail))) return rails;
  return rails.map((rail) => (isBroken(rail) ? undefined : rail));
}

function pathOf(endpoint: RailEndpoint): RailState['path'] {
  const provider = endpoint.info.fabricAttr.provName ?? '';
  if (/shm|sm2/.test(provider)) return 'shared-memory';
  if (!/efa/.test(provider)) return 'sockets';
  try {
    const read = () => endpoint.getOption('FI_OPT_EFA_EMULATED_WRITE');
    return expecting('FI_ENOPROTOOPT', read) ? 'emulated' : 'rdma';
  } catch {
    return 'emulated'; // libfabric 1.17 has no such option, and no RDMA writes
  }
}

export interface RailOptions {
  readonly provider?: string;
  readonly fabric?: string;
  readonly nics: 'all' | number | readonly string[];
  readonly threads: number;
  /** Whether the entries must have FI_HMEM. */
  readonly hmem: boolean;
  readonly node?: string;
}

// This fabric uses the NIC without the software of the provider, so writes need RDMA.
const DIRECT = 'efa-direct';
// FI_RX_CQ_DATA is missing, because with it writes with data would consume the receives of messages.
const MODE = ['FI_CONTEXT', 'FI_CONTEXT2'] as const;
const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const HMEM_CAPS = [...CAPS, 'FI_HMEM'] as const;
const capsOf = (hmem: boolean) => (hmem ? HMEM_CAPS : CAPS);
// If its peer is not in the vector, efa of libfabric 1.17 takes a message that comes through shm for one of another peer, and
// drops it. With FI_REMOTE_COMM and without FI_LOCAL_COMM, an endpoint sends through the NIC within a host too.
const throughNic = (provider: string | undefined) => {
  const { major, minor } = version();
  const drops = /efa/.test(provider ?? '') && major === 1 && minor < 18;
  return drops ? (['FI_REMOTE_COMM'] as const) : [];
};
// If an engine names no provider, these are tried in this order.
const PROVIDERS = ['efa', 'tcp', 'shm'] as const;

/** Opens an endpoint on each NIC. The first `threads` rails have a thread each. The others share these threads. */
export async function openRails(options: RailOptions): Promise<Rail[]> {
  const provider = options.provider ?? firstProvider(options);
  const names = nicsOf(provider, options);
  const openOn = (nic: string | undefined, leader?: Rail) =>
    openRail({ ...options, provider }, nic, leader?.domain);
  const leaders = await allOpened(names.slice(0, options.threads).map((nic) => openOn(nic)));
  try {
    const rest = names.slice(options.threads);
    const others = rest.map((nic, i) => openOn(nic, leaders[i % leaders.length]));
    return [...leaders, ...(await allOpened(others))];
  } catch (error) {
    await closeAll(leaders);
    throw error;
  }
}

/** Returns the rails when all are open. If one fails, closes the others and throws the first failure. */
async function allOpened(opening: readonly Promise<Rail>[]): Promise<Rail[]> {
  const opened = await Promise.allSettled(opening);
  const rails = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = opened.find((each) => each.status === 'rejected');
  if (failed === undefined) return rails;
  await closeAll(rails);
  throw (failed as PromiseRejectedResult).reason;
}

const closeAll = (rails: readonly Rail[]) =>
  Promise.allSettled(rails.map(({ endpoint }) => endpoint.close()));

const entriesOf = (provider: string, hmem: boolean) =>
  getInfo({
    caps: capsOf(hmem),
    mode: MODE,
    epAttr: { type: 'FI_EP_RDM' },
    fabricAttr: { provName: provider },
  });

function firstProvider({ hmem }: RailOptions): string {
  const found = PROVIDERS.find((provider) => entriesOf(provider, hmem).length > 0);
  if (found !== undefined) return found;
  throw new FabricError(errnoOf('FI_ENODATA'), 'fi_getinfo', {
    detail: `none of ${PROVIDERS.join(', ')} has an endpoint with ${capsOf(hmem).join(', ')}`,
    hint: 'run `npx libfabric doctor`',
  });
}

/** The name of each rail's domain; undefined for the provider's first choice. */
function nicsOf(provider: string, { nics, fabric, hmem }: RailOptions): (string | undefined)[] {
  if (typeof nics === 'object') return [...nics];
  const names = new Set<string>();
  for (const { domainAttr, fabricAttr } of entriesOf(provider, hmem)) {
    const isWanted = fabric === undefined ? fabricAttr.name !== DIRECT : fabricAttr.name === fabric;
    if (isWanted && domainAttr.name) names.add(domainAttr.name);
  }
  const ofEfa = /efa/.test(provider);
  if (ofEfa && names.size === 0) throw noNic(provider, fabric, hmem);
  const all = ofEfa ? [...names] : [undefined];
  if (nics === 'all') return all;
  // Several rails may share a NIC. This is for tests, and for providers with one thread per connection.
  return Array.from({ length: nics }, (_, i) => all[i % all.length]);
}

function noNic(provider: string, fabric: string | undefined, hmem: boolean): FabricError {
  const what = `no NIC of ${provider} has ${fabric ?? 'an endpoint'} with ${capsOf(hmem).join(', ')}`;
  const direct = fabric === DIRECT;
  const hints = [
    ...(hmem ? ['FI_HMEM needs a libfabric with CUDA and a GPU; dmabufs need no `hmem`'] : []),
    ...(direct ? ['efa-direct needs libfabric 2 and NICs with RDMA writes'] : []),
    'run `npx libfabric doctor`',
  ];
  return new FabricError(errnoOf('FI_ENODATA'), 'fi_getinfo', {
    detail: direct ? `${what}, and writes with data that need no receive` : what,
    hint: hints.join('; '),
  });
}

async function openRail(
  { provider, fabric, hmem, node }: RailOptions,
  domain: string | undefined,
  threadOf: Domain | undefined,
) {
  const options = {
    caps: [...capsOf(hmem), ...throughNic(provider)],
    mode: MODE,
    ...(provider !== undefined && { provider }),
    ...(fabric !== undefined && { fabric }),
    ...(domain !== undefined && { domain }),
    ...(node !== undefined && { node }),
    ...(threadOf !== undefined && { threadOf }),
  };
  // With this flag, a slice that has completed has arrived, even if this process ends at once.
  const delivered = { ...options, txAttr: { opFlags: ['FI_DELIVERY_COMPLETE'] as const } };
  try {
    return new Rail(await expecting('FI_ENODATA', () => open(delivered)));
  } catch (error) {
    if (!FabricError.is(error) || error.code !== 'FI_ENODATA') throw error;
    return new Rail(await open(options));
  }
}

/** The states of all rails. */
export function statesOf(engine: Handle<'TransferEngine'>, rails: readonly Rail[]): RailState[] {
  const counters = native.transferRails(engine);
  return rails.map((rail, index) => rail.state(index, counters[index] as NativeRailCounters));
}
