import type { Cap } from '../../../../base/flags.js';
import type { Buffers } from '../../common/buffers.js';
import { measure, type Rounds, unlimited, type Work } from '../../common/measure.js';
import type { Session } from '../../common/session.js';
import { type Benchmark, injects, type MeasureSize } from './benchmark.js';
import { ExchangeCounts } from './exchange-counts.js';
import { MessageBatch } from './message-batch.js';

/** A ping-pong of fabtests: the latency of messages. */
export function pingpong(
  command: string,
  cap: Cap & ('FI_MSG' | 'FI_TAGGED'),
  summary: string,
  more: Partial<Benchmark> = {},
): Benchmark {
  return {
    command,
    type: 'FI_EP_RDM',
    summary,
    transfersPerIteration: () => 2,
    bandwidth: false,
    needs: () => ({ caps: [cap], tx: { tclass: 'FI_TC_LOW_LATENCY' } }),
    prepare,
    ...more,
  };
}

async function prepare(session: Session, room: number): Promise<MeasureSize> {
  const buffers = await session.allocate(room, 1, ['FI_SEND', 'FI_RECV']);
  buffers.memory.fill(buffers.sending(room));
  if (!session.settings.prePosted) await session.syncInBand();
  return (size, iterations) => measureSize(session, buffers, size, iterations);
}

async function measureSize(session: Session, buffers: Buffers, size: number, iterations: number) {
  const { settings, role, waiter } = session;
  const received = buffers.receiving(size);
  const steps = settings.warmUp + iterations;
  const verifyStep = (index: number) => {
    if (index < settings.warmUp) return; // fabtests do not fill the messages of the warm-up
    buffers.memory.verify(received);
    buffers.memory.clear(received);
  };
  using exchange = new Exchange(session, buffers, size);
  const { receive, send } = exchange;
  const work = {
    steps,
    clockAt: settings.warmUp,
    verify: settings.verify ? verifyStep : undefined,
  } satisfies Partial<Work>;
  if (!settings.prePosted) {
    await session.sync();
    const [one, other] = role === 'client' ? [send, receive] : [receive, send];
    return await measure(waiter, { ...work, ...inTurns(one, other) }, settings.statistics);
  }
  // The first receive is posted before the peer can send: a datagram would be dropped.
  if (!settings.oobSync) session.postReceive(); // the receive of the sync must be posted first
  const posted = receive.post();
  await session.sync();
  const first = async () => {
    if (role === 'client') await send.complete();
    await session.until(posted);
    exchange.count();
  };
  // A step of the server answers the previous message and receives the next.
  const { rounds } = exchange;
  const last = role === 'server' ? () => send.complete() : undefined;
  return await measure(waiter, { ...work, first, rounds, last }, settings.statistics);
}

/** Steps that complete one batch, then the other. */
function inTurns(one: MessageBatch, other: MessageBatch) {
  return {
    step: async () => {
      await one.complete();
      await other.complete();
    },
  };
}

/** The batches of one size. */
class Exchange {
  readonly receive: MessageBatch;
  readonly send: MessageBatch;
  readonly #session: Session;
  /** A receive and a send. The receive is posted first. */
  readonly #both: MessageBatch;
  readonly #injects: boolean;
  #counts: ExchangeCounts | undefined;

  constructor(session: Session, buffers: Buffers, size: number) {
    const [into, from] = [buffers.receiving(size), buffers.sending(size)];
    this.#session = session;
    this.#injects = injects(session, size);
    const sending = (batch: MessageBatch) =>
      this.#injects ? batch.inject(from) : batch.send(from);
    this.receive = new MessageBatch(session).receive(into);
    this.send = sending(new MessageBatch(session));
    this.#both = sending(new MessageBatch(session).receive(into));
  }

  /** Starts to count exchanges with the counters, if the test has some. */
  count(): void {
    this.#counts = this.#session.counters && new ExchangeCounts(this.#session, this.#injects);
  }

  /** Exchanges from number `index` on, counted from count(). */
  readonly rounds = (index: number): Rounds => {
    const until = this.#counts?.reach(index);
    return unlimited((options) => this.#both.rounds(until ? { ...options, until } : options));
  };

  [Symbol.dispose](): void {
    for (const batch of [this.receive, this.send, this.#both]) batch.close();
  }
}
