import type { TransferMemory } from '../../transfer/memory.js';
import type { Offer } from '../../transfer/offer.js';
import type { RemoteEngine } from '../../transfer/remote-engine.js';
import { Usage } from '../fabtests/common/measure.js';
import type { PeerLink } from '../fabtests/common/peer-link.js';
import type { BenchmarkRow } from '../shared/result.js';
import { fillOnce, type Layout, layoutOf } from './data.js';
import { openEngine, providerOf } from './engine.js';
import {
  checkProvider,
  type FromClient,
  type FromServer,
  fromClient,
  PROTOCOL,
  read,
  whileConnected,
} from './messages.js';
import type { Plan } from './plan.js';
import type { Run } from './run.js';

/** An offer lasts as long as the connection. */
const EXPIRES = 2 ** 31 - 1; // ms

/** Serves one client, with the engine and the memory that the client's plan needs. */
export async function serve({ rails, link, seconds, listener }: Run): Promise<void> {
  const hello = read(fromClient, await link.expectFirst('libfabric transfer', seconds));
  if (hello.kind !== 'hello') throw new Error(`the peer begins with ${hello.kind}`);
  const engine = await openEngine(rails, hello.plan);
  try {
    const provider = providerOf(engine);
    checkProvider(provider, hello.provider);
    const peer = await engine.peer(hello.address);
    const memory = await engine.allocate(Math.max(...hello.plan.sizes));
    listener.begin(engine, hello.plan);
    const server = new Server(hello.plan, link, peer, memory);
    server.tell({ kind: 'hello', protocol: PROTOCOL, provider, address: engine.address });
    await server.answerAll((row) => listener.row(row));
  } finally {
    await engine.close();
  }
}

/** A row of the client, with the CPU use as the server sees it. */
function seenHere({ cpu, ...row }: BenchmarkRow): BenchmarkRow {
  return cpu?.peer === undefined ? row : { ...row, cpu: { own: cpu.peer, peer: cpu.own } };
}

interface Offered {
  readonly offer: Offer;
  readonly layout: Layout;
  readonly seed: number;
}

class Server {
  readonly #plan: Plan;
  readonly #link: PeerLink;
  readonly #peer: RemoteEngine;
  readonly #memory: TransferMemory;
  readonly #layouts = new Map<number, Layout>();
  readonly #offered: Offered[] = [];
  #usage = new Usage();

  constructor(plan: Plan, link: PeerLink, peer: RemoteEngine, memory: TransferMemory) {
    this.#plan = plan;
    this.#link = link;
    this.#peer = peer;
    this.#memory = memory;
    fillOnce(memory.bytes);
  }

  tell(message: FromServer): void {
    this.#link.send(message);
  }

  /** Answers the client until it has finished. */
  async answerAll(onRow: (row: BenchmarkRow) => void): Promise<void> {
    for (;;) {
      const message = read(fromClient, await this.#link.expect());
      if (message.kind === 'end') return;
      if (message.kind === 'row') onRow(seenHere(message.row));
      else await this.#answer(message);
    }
  }

  async #answer(message: FromClient): Promise<void> {
    switch (message.kind) {
      case 'offer':
        return this.#offer(message.size, message.seed);
      case 'transferred':
        return this.#transferred();
      case 'begin':
        this.#usage = new Usage();
        return;
      case 'measured':
        return this.tell({ kind: 'cpu', cores: this.#usage.cores });
      default:
        throw new Error(`the peer sends ${message.kind} out of turn`);
    }
  }

  async #offer(size: number, seed: number): Promise<void> {
    const { operation, verify } = this.#plan;
    const layout = this.#layouts.get(size) ?? layoutOf(this.#plan, size, 'server');
    this.#layouts.set(size, layout);
    if (verify && operation === 'read') layout.fill(this.#memory.bytes, seed);
    const offer = await layout.partOf(this.#memory).offer({
      access: operation,
      to: this.#peer,
      expires: EXPIRES,
      ...(layout.slices !== undefined && { slices: layout.slices }),
    });
    this.#offered.push({ offer, layout, seed });
    this.tell({ kind: 'token', token: offer.token });
  }

  async #transferred(): Promise<void> {
    const { operation, verify } = this.#plan;
    const oldest = this.#offered.shift();
    if (oldest === undefined) throw new Error('the peer has transferred without an offer');
    const { offer, layout, seed } = oldest;
    if (operation === 'write') await whileConnected(this.#link, offer.arrived);
    if (verify) await whileConnected(this.#link, offer.released);
    if (verify && operation === 'write') layout.verify(this.#memory.bytes, seed);
    this.tell({ kind: 'arrived' });
  }
}
