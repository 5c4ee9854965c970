import type { Cap, MrAccess } from '../../../base/flags.js';
import type { Peer } from '../../../base/peer.js';
import type { AnyInfo } from '../../../contract/info-types.js';
import type { EndpointBase } from '../../../endpoint/endpoint.js';
import type { MemoryRegion } from '../../../memory/memory-region.js';
import type { RemoteRegion } from '../../../memory/remote-region.js';
import type { MatrixRank } from '../../shared/result.js';
import { allocateFor } from '../common/memory.js';
import { chooseNics, closeNics, type Nic, nicOf, openNics } from '../common/nics.js';
import type { Group } from './group.js';
import { placesOf, thisHost } from './host.js';
import type { Settings, Transfer } from './settings.js';

/** What a rank reports to the others about itself. */
interface RankInfo {
  readonly provider: string;
  readonly nics: readonly {
    readonly name: string;
    readonly address: string;
    /** Descriptor of the memory that others read or write. */
    readonly region: string;
  }[];
}

/** A NIC of this rank, with its memory and the other ranks' NICs with the same index. */
export interface Lane extends Nic {
  /** The data that this rank sends. */
  readonly out: MemoryRegion;
  /** The memory where data arrives: a slot for each rank that may send at the same time. */
  readonly into: MemoryRegion;
  /** The peers, by rank. */
  readonly peers: readonly Peer[];
  readonly remotes: readonly RemoteRegion[];
}

const MANY = 2 ** 31; // more completions than can occur
const TURN = 1; // ms

interface Rights {
  readonly out: readonly MrAccess[];
  readonly into: readonly MrAccess[];
}

const RIGHTS: Readonly<Record<Transfer, Rights>> = {
  write: { out: ['FI_WRITE'], into: ['FI_REMOTE_WRITE'] },
  read: { out: ['FI_REMOTE_READ'], into: ['FI_READ'] },
  send: { out: ['FI_SEND'], into: ['FI_RECV'] },
};

/** This rank's endpoints, one on each NIC, and the addresses and memory of all other ranks. */
export class Mesh {
  readonly group: Group;
  readonly settings: Settings;
  readonly lanes: readonly Lane[];
  /** The place of each rank. */
  readonly ranks: readonly MatrixRank[];
  /** Whether each rank has a separate slot in the memory where data arrives. */
  readonly #slots: boolean;

  private constructor(
    group: Group,
    settings: Settings,
    lanes: readonly Lane[],
    ranks: readonly MatrixRank[],
  ) {
    this.group = group;
    this.settings = settings;
    this.lanes = lanes;
    this.ranks = ranks;
    this.#slots = hasSlots(settings);
  }

  /** Opens this rank's NICs, and gets the addresses and memory of the other ranks' NICs. */
  static async open(group: Group, settings: Settings): Promise<Mesh> {
    const hosts = await group.share(thisHost(settings.nics.provider));
    const ranks = placesOf(hosts).map((place, rank) => ({ rank, ...place }));
    const own = ranks[group.rank]?.machine;
    const local = ranks.slice(0, group.rank).filter(({ machine }) => machine === own).length;
    const caps: readonly Cap[] = settings.transfer === 'send' ? ['FI_MSG'] : ['FI_MSG', 'FI_RMA'];
    const nics = await openNics(chooseNics(settings.nics, caps, local));
    try {
      const lanes = await Promise.all(nics.map((nic) => withMemory(nic, settings, group)));
      const cards = await group.share(infoOf(lanes, settings.transfer));
      requireSameNics(cards, group.rank, ranks);
      const connected = lanes.map((lane, i) => connect(lane, i, cards, settings.transfer));
      return new Mesh(group, settings, connected, ranks);
    } catch (error) {
      await closeNics(nics);
      throw error;
    }
  }

  get rank(): number {
    return this.group.rank;
  }

  get info(): AnyInfo {
    return this.endpoint.info;
  }

  /** The endpoint of the first NIC. */
  get endpoint(): EndpointBase {
    return (this.lanes[0] as Lane).ep;
  }

  /** Names of this rank's NICs. */
  get nicNames(): string[] {
    return this.lanes.map(({ ep }) => nicOf(ep.info as AnyInfo));
  }

  /** The offset of a rank's slot in the memory where data arrives. */
  slotOf(rank: number): number {
    return this.#slots ? rank * this.settings.size : 0;
  }

  /** Lets the event loop run one turn. Throws if the measurement has ended early. */
  readonly yieldToEvents = async (): Promise<void> => {
    await new Promise(setImmediate);
    if (this.group.trouble) throw this.group.trouble;
  };

  /** Waits for a promise, and drives the engine meanwhile so that other ranks can make progress. */
  async turnUntil<T>(promise: Promise<T>): Promise<T> {
    const { domain } = this.lanes[0] as Lane;
    if (domain.driver !== 'manual') return promise; // a thread drives the engine
    let settled = false;
    const settle = () => {
      settled = true;
    };
    promise.then(settle, settle);
    while (!settled) {
      domain.wait(MANY, TURN);
      await this.yieldToEvents();
    }
    return promise;
  }

  /** Verifies the data that arrived from a rank, and clears it. */
  verify(from: number): void {
    const { size } = this.settings;
    const at = this.slotOf(from);
    for (const { into } of this.lanes) {
      const bytes = into.bytes.subarray(at, at + size);
      verifyData(bytes, from);
      bytes.fill(0);
    }
  }

  async close(): Promise<void> {
    await closeNics(this.lanes);
  }
}

const hasSlots = ({ command }: Settings) => command === 'all-to-all';

type LaneMemory = Nic & Pick<Lane, 'out' | 'into'>;

async function withMemory(
  nic: Nic,
  settings: Settings,
  { rank, ranks }: Group,
): Promise<LaneMemory> {
  const { size, transfer } = settings;
  const rights = RIGHTS[transfer];
  const out = await allocateFor(nic.domain, size, rights.out);
  out.bytes.set(dataOf(rank, out.length));
  const into = await allocateFor(nic.domain, hasSlots(settings) ? size * ranks : size, rights.into);
  return { ...nic, out, into };
}

function infoOf(lanes: readonly LaneMemory[], transfer: Transfer): RankInfo {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  return {
    provider: lanes[0]?.ep.info.fabricAttr.provName ?? '',
    nics: lanes.map(({ ep, out, into }) => ({
      name: nicOf(ep.info as AnyInfo),
      address: text(ep.address),
      region: text((transfer === 'read' ? out : into).descriptor()),
    })),
  };
}

function requireSameNics(
  cards: readonly RankInfo[],
  rank: number,
  ranks: readonly MatrixRank[],
): void {
  const own = cards[rank] as RankInfo;
  for (const [other, { provider, nics }] of cards.entries()) {
    const what = (card: RankInfo) => `${card.nics.length} NICs on ${card.provider}`;
    if (provider === own.provider && nics.length === own.nics.length) continue;
    const mismatch = `has ${what(own)}, rank ${other} (${ranks[other]?.host}) ${what({ provider, nics })}`;
    throw new Error(`${mismatch}: set -p and --nics so that they are the same`);
  }
}

function connect(
  lane: LaneMemory,
  i: number,
  cards: readonly RankInfo[],
  transfer: Transfer,
): Lane {
  const bytes = (text: string) => Buffer.from(text, 'base64');
  const nics = cards.map((card) => card.nics[i] as RankInfo['nics'][number]);
  return {
    ...lane,
    peers: nics.map(({ address }) => lane.ep.av.insert(bytes(address))),
    remotes: transfer === 'send' ? [] : nics.map(({ region }) => lane.domain.remote(bytes(region))),
  };
}

/** The data that a rank sends. It differs from rank to rank. */
function dataOf(rank: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (rank * 31 + i * 7 + (i >> 8)) & 0xff;
  return bytes;
}

/** Throws if bytes are not those that a rank sends. */
function verifyData(bytes: Uint8Array, rank: number): void {
  const expected = dataOf(rank, bytes.length);
  if (Buffer.compare(bytes, expected) === 0) return;
  const at = bytes.findIndex((byte, i) => byte !== expected[i]);
  throw new Error(`data of rank ${rank}: byte ${at} is ${bytes[at]}, not ${expected[at]}`);
}
