import type { RemoteRegion } from '../../../remote-region.js';
import type { Buffers } from '../common/buffers.js';
import { allAlike, measure, type Timing } from '../common/measure.js';
import { checkPattern, fillPattern } from '../common/pattern.js';
import { exchangeKeys, RMA_ACCESS } from '../common/rma.js';
import type { Session, TestBatch } from '../common/session.js';
import { type Benchmark, injects, type MeasureSize, measureAlone } from './shared/benchmark.js';
import { Arrivals, addWrite, rmaNeeds } from './shared/rma.js';

/** fabtests' latency of RMA: fi_rma_pingpong, since 2.0. */
export const rmaPingpong: Benchmark = {
  command: 'rma-pingpong',
  type: 'FI_EP_RDM',
  summary: 'latency of RMA',
  description:
    'Measures the latency of RMA. A write has arrived when its last byte is seen to change, a write\n' +
    'with data when the data arrives. Reads go from the client, one at a time.',
  operations: ['write', 'writedata', 'read'],
  transfersPerIteration: ({ operation }) => (operation === 'read' ? 1 : 2),
  bandwidth: false,
  alone: measureAlone(prepare),
  unverifiable: (operation) =>
    operation === 'write'
      ? 'the last byte of a write tells that it has arrived, and of the others nothing; use -o writedata'
      : undefined,
  caveat: ({ operation }) =>
    operation === 'read' ? undefined : 'polling memory shows when a write can be seen, not earlier',
  needs: rmaNeeds,
  prepare,
};

async function prepare(session: Session, room: number): Promise<MeasureSize> {
  const { operation, window } = session.settings;
  // fabtests read behind the places of a window, of which this test uses one.
  const places = operation === 'read' ? window : 1;
  const buffers = await session.allocate(room, places, RMA_ACCESS);
  const remote = await exchangeKeys(session, buffers);
  return (size, iterations) => {
    if (size === 0) throw new Error('RMA of 0 bytes has no latency: nothing tells of its arrival');
    fillPattern(buffers.sending(size).bytes);
    if (operation === 'read') return measureReads(session, buffers, remote, size, iterations);
    return measureWrites(session, new Writes(session, buffers, remote, size), size, iterations);
  };
}

/** What one size writes: to the start of the other side's memory. */
class Writes {
  readonly buffers: Buffers;
  readonly #session: Session;
  readonly #remote: RemoteRegion;
  readonly #size: number;
  readonly #inject: boolean;
  readonly #batches: TestBatch[] = [];

  constructor(session: Session, buffers: Buffers, remote: RemoteRegion, size: number) {
    this.buffers = buffers;
    this.#session = session;
    this.#remote = remote;
    this.#size = size;
    this.#inject = injects(session, size) && !session.settings.verify;
  }

  /**
   * The batch for a write whose last byte is `last`. Injected bytes are copied when the batch is
   * made, so that there is one for every value.
   */
  withLast(last: number): TestBatch {
    const from = this.buffers.sending(this.#size);
    const index = this.#inject ? last : 0;
    const known = this.#batches[index];
    if (!this.#inject || known === undefined) from.bytes[this.#size - 1] = last;
    return known ?? this.#make(index);
  }

  /** The batch for a write with data. */
  withData(): TestBatch {
    return this.#batches[0] ?? this.#make(0);
  }

  #make(index: number): TestBatch {
    const from = this.buffers.sending(this.#size);
    const batch = this.#session.batch((batch) =>
      addWrite(batch, this.#session, from, this.#remote, this.#inject),
    );
    this.#batches[index] = batch;
    return batch;
  }

  close(): void {
    for (const batch of this.#batches) if (batch?.inFlight === 0) batch.close();
  }
}

/** Writes to and fro: one side writes when the other's write has arrived. */
async function measureWrites(
  session: Session,
  writes: Writes,
  size: number,
  iterations: number,
): Promise<Timing> {
  const { settings, role, patience } = session;
  const withData = settings.operation === 'writedata';
  const bytes = writes.buffers.receiving(size).bytes;
  const lastByte = bytes.subarray(size - 1);
  const arrivals = withData ? new Arrivals(session) : undefined;
  let turn = 0;
  const changed = () => lastByte[0] === (turn & 0xff);
  const arrive = () => (arrivals ? arrivals.spin(1) : patience.spin(changed));
  const write = () => patience.run(withData ? writes.withData() : writes.withLast(turn & 0xff));
  // fabtests wait for an arrival of their own, and count from 0 through the warm-up and on.
  let half = false;
  const step = (index: number) => {
    turn = index;
    half = true;
    if (role === 'client') write();
    else arrive();
    half = false;
    if (role === 'client') arrive();
    else write();
  };
  const rest = async () => {
    if (!half) return;
    half = false;
    try {
      if (role === 'client') arrive();
      else write();
    } catch (error) {
      await patience.finish(error);
    }
  };
  const check = (index: number) => {
    if (index < settings.warmUp) return;
    checkPattern(bytes.subarray(0, size - 1));
  };
  if (!withData) lastByte[0] = 0xff;
  await session.sync();
  const timing = await measure(
    patience,
    {
      steps: settings.warmUp + iterations,
      clockAt: settings.warmUp,
      step,
      rest,
      check: settings.verify ? check : undefined,
    },
    settings.statistics,
  );
  await arrivals?.close();
  writes.close();
  return timing;
}

/** Reads of the client, one at a time; the server only waits. */
async function measureReads(
  session: Session,
  buffers: Buffers,
  remote: RemoteRegion,
  size: number,
  iterations: number,
): Promise<Timing | undefined> {
  const { settings, role, patience } = session;
  await session.sync();
  if (role === 'server') {
    await session.syncInBand(session.passively);
    return undefined;
  }
  const into = buffers.receiving(size);
  const bytes = into.bytes;
  const check = () => {
    checkPattern(bytes);
    bytes.fill(0);
  };
  using batch = session.batch((batch) =>
    batch.read(into, session.peer, remote, { offset: buffers.half }),
  );
  const timing = await measure(
    patience,
    {
      steps: settings.warmUp + iterations,
      clockAt: settings.warmUp,
      step: () => patience.run(batch),
      rounds: allAlike((options) => patience.rounds(batch, options)),
      check: settings.verify ? check : undefined,
    },
    settings.statistics,
  );
  if (timing.error === undefined) await session.syncInBand();
  return timing;
}
