import type { MemoryPart, TransferMemory } from '../../transfer/memory.js';
import type { RemoteEngine } from '../../transfer/remote-engine.js';
import type { TransferEngine } from '../../transfer/transfer-engine.js';
import { Usage } from '../fabtests/common/measure.js';
import type { PeerLink } from '../fabtests/common/peer-link.js';
import { sizeText } from '../shared/perf-table.js';
import { Progress } from '../shared/progress.js';
import type { BenchmarkRow } from '../shared/result.js';
import { fillOnce, type Layout, layoutOf } from './data.js';
import { openEngine, providerOf, railNames } from './engine.js';
import {
  checkProvider,
  type FromClient,
  type FromServer,
  fromServer,
  PROTOCOL,
  read,
} from './messages.js';
import { iterationsOf, type Plan } from './plan.js';
import { type Done, rowOf } from './row.js';
import type { Run } from './run.js';
import { Watch } from './watch.js';

const TIMEOUT = 2 ** 31 - 1; // ms: a transfer ends when it makes no progress
const OPENING = 6; // timeouts, in which the server allocates and registers its memory
const CHECKED = 1e8; // bytes a second that the server fills or checks, at least
const PARTS = 10; // of a size, for the progress

/** Measures every size of the plan. */
export async function measureAll(
  { rails, link, seconds, listener }: Run,
  plan: Plan,
): Promise<void> {
  const engine = await openEngine(rails, plan);
  const progress = new Progress(plan.sizes.flatMap((size) => weightsOf(plan, size)));
  try {
    const provider = providerOf(engine);
    const { address } = engine;
    const hello: FromClient = { kind: 'hello', protocol: PROTOCOL, provider, address, plan };
    link.send(hello);
    const answer = read(
      fromServer,
      await link.expectFirst('libfabric transfer', seconds * OPENING),
    );
    if (answer.kind !== 'hello') throw new Error(`the peer begins with ${answer.kind}`);
    checkProvider(provider, answer.provider);
    const peer = await engine.peer(answer.address);
    const memory = await engine.allocate(Math.max(...plan.sizes));
    fillOnce(memory.bytes);
    listener.begin(engine, plan);
    const client = new Client({ plan, link, seconds, engine, peer, memory, progress });
    for (const size of plan.sizes) {
      const row = await client.measure(size);
      progress.clear();
      listener.row(row);
      client.tell({ kind: 'row', row });
    }
    client.tell({ kind: 'end' });
  } finally {
    progress.end();
    await engine.close();
  }
}

// In bytes. The transfers of a size are up to ten steps.
function weightsOf(plan: Plan, size: number): number[] {
  const count = iterationsOf(plan, size);
  const parts = Math.min(PARTS, count);
  return new Array<number>(parts).fill((size * count) / parts);
}

/** The objects that the measurements of all sizes share. */
interface Setup {
  readonly plan: Plan;
  readonly link: PeerLink;
  readonly seconds: number;
  readonly engine: TransferEngine;
  readonly peer: RemoteEngine;
  readonly memory: TransferMemory;
  readonly progress: Progress;
}

class Client {
  readonly #setup: Setup;
  #seed = 0;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  tell(message: FromClient): void {
    this.#setup.link.send(message);
  }

  async #answer<K extends FromServer['kind']>(kind: K, seconds = this.#setup.seconds) {
    const message = read(fromServer, await this.#setup.link.expect(seconds));
    if (message.kind === kind) return message as Extract<FromServer, { kind: K }>;
    throw new Error(`the peer sends ${message.kind} instead of ${kind}`);
  }

  /** Measures one size. */
  async measure(size: number): Promise<BenchmarkRow> {
    const { plan, engine, link, seconds, memory, progress } = this.#setup;
    const layout = layoutOf(plan, size, 'client');
    const part = layout.partOf(memory);
    const count = iterationsOf(plan, size);
    const parts = Math.min(PARTS, count);
    const watch = new Watch(engine, link, seconds);
    const done: Done[] = [];
    try {
      let token = await this.#token(size);
      let usage = new Usage();
      for (let i = -plan.warmUp; i < count; i++) {
        if (i === 0) {
          watch.begin();
          this.tell({ kind: 'begin' });
          usage = new Usage();
        }
        if (i >= 0 && Math.floor((i * parts) / count) !== Math.floor(((i - 1) * parts) / count)) {
          progress.next(`${sizeText(size)} bytes`);
        }
        const transferred = await this.#transfer(watch, layout, part, token, i + 1 < count);
        if (i >= 0) done.push(transferred.done);
        token = transferred.next;
      }
      const timeline = watch.end();
      this.tell({ kind: 'measured' });
      const cpu = { own: usage.cores, peer: (await this.#answer('cpu')).cores };
      return { ...rowOf(size, done, railNames(engine)), railTimeline: timeline, cpu };
    } finally {
      watch.close();
    }
  }

  /** One transfer. Returns the token of the next one, if there is one. */
  async #transfer(watch: Watch, layout: Layout, part: MemoryPart, token: string, hasNext: boolean) {
    const { plan, peer, memory } = this.#setup;
    const { verify, operation } = plan;
    const isRead = operation === 'read';
    const grant = peer.grant(token);
    const seed = this.#seed;
    if (verify && !isRead) layout.fill(memory.bytes, seed);
    // The server makes the next offer meanwhile. Long tokens would delay the end of the transfer.
    const isAhead = hasNext && !verify && plan.pages === undefined;
    if (isAhead) this.#ask(layout.size);
    const start = performance.now();
    const done = await watch.during(async (signal) => {
      const options = { signal, timeout: TIMEOUT };
      const transfer = isRead ? peer.read(grant, part, options) : peer.write(part, grant, options);
      await transfer.arrived;
      const seconds = (performance.now() - start) / 1000;
      // Checked memory is used again only when no NIC uses it any more.
      if (verify) await transfer.then(() => transfer.released);
      return { report: transfer.report(), seconds };
    });
    if (verify && isRead) layout.verify(memory.bytes, seed);
    this.tell({ kind: 'transferred' });
    const ahead = isAhead ? (await this.#answer('token')).token : '';
    await this.#answer('arrived', this.#setup.seconds + (verify ? layout.size / CHECKED : 0));
    const next = isAhead || !hasNext ? ahead : await this.#token(layout.size);
    return { done, next };
  }

  #ask(size: number): void {
    this.tell({ kind: 'offer', size, seed: ++this.#seed });
  }

  async #token(size: number): Promise<string> {
    this.#ask(size);
    const fills = this.#setup.plan.verify && this.#setup.plan.operation === 'read';
    return (await this.#answer('token', this.#setup.seconds + (fills ? size / CHECKED : 0))).token;
  }
}
