import type { RmaOptions } from '../../../endpoint/rma-options.js';
import type { RemoteRegion } from '../../../memory/remote-region.js';
import type { Buffers } from '../common/buffers.js';
import { allAlike, measure, type Timing, unlimited } from '../common/measure.js';
import { exchangeKeys, RMA_ACCESS } from '../common/rma.js';
import type { Session } from '../common/session.js';
import { type Benchmark, injects, type MeasureSize } from './shared/benchmark.js';
import { addWrite, rmaNeeds } from './shared/rma.js';

/** fabtests' latency of RMA: fi_rma_pingpong, since 2.0. */
export const rmaPingpong: Benchmark = {
  command: 'rma-pingpong',
  type: 'FI_EP_RDM',
  summary: 'latency of RMA',
  description:
    'Measures the latency of RMA. A write has arrived when its last byte changes in memory, a write ' +
    'with data when the data arrives. The client reads, one read at a time.',
  operations: ['write', 'writedata', 'read'],
  transfersPerIteration: ({ operation }) => (operation === 'read' ? 1 : 2),
  bandwidth: false,
  unverifiable: (operation) =>
    operation === 'write'
      ? 'only the last byte of a write is known to have arrived; use -o writedata'
      : undefined,
  hostOnly: (operation) =>
    operation === 'write'
      ? 'a write has arrived when its last byte changes, which the CPU cannot see; use -o writedata or -o read'
      : undefined,
  caveat: ({ operation }) =>
    operation === 'read' ? undefined : 'polling memory shows when a write can be seen, not earlier',
  needs: rmaNeeds,
  prepare,
};

async function prepare(session: Session, room: number): Promise<MeasureSize> {
  const { operation, window } = session.settings;
  // fabtests read from behind the places of a window, although this test uses only one place.
  const places = operation === 'read' ? window : 1;
  const buffers = await session.allocate(room, places, RMA_ACCESS);
  const remote = await exchangeKeys(session, buffers);
  return (size, iterations) => {
    if (size === 0)
      throw new Error('RMA of 0 bytes has no latency: its arrival cannot be detected');
    buffers.memory.fill(buffers.sending(size));
    if (operation === 'read') return measureReads(session, buffers, remote, size, iterations);
    return measureWrites(session, buffers, remote, size, iterations);
  };
}

/** Alternating writes: each side writes when the peer's write has arrived. */
async function measureWrites(
  session: Session,
  buffers: Buffers,
  remote: RemoteRegion,
  size: number,
  iterations: number,
): Promise<Timing> {
  const { settings, role, waiter } = session;
  const withData = settings.operation === 'writedata';
  const [into, from] = [buffers.receiving(size), buffers.sending(size)];
  const arrival = into.slice(size - 1);
  const mark = from.slice(size - 1);
  const inject = injects(session, size);
  // injectWrite() copies its bytes when the batch is prepared, before the mark is set. A write with
  // FI_INJECT copies them when it is posted.
  const atPost: RmaOptions = inject && !withData ? { flags: ['FI_INJECT'] } : {};
  using batch = session.batch((batch) =>
    addWrite(batch, session, from, remote, inject && withData, atPost),
  );
  using emptyBatch = session.batch(() => {});
  const marked = (write: number) => (withData ? {} : { mark: { byte: mark, value: write & 0xff } });
  const arrived = (write: number) => ({
    until: withData ? { immediates: 1 } : { byte: arrival, value: write & 0xff },
  });
  const steps = settings.warmUp + iterations;
  // The server answers the client's write `index`, and the client answers that with its next write.
  const lag = role === 'client' ? 0 : 1;
  const rounds = (index: number) =>
    unlimited((options) =>
      waiter.rounds(batch, { ...options, ...marked(index - lag), ...arrived(index) }),
    );
  const serversEnds = {
    first: async () => {
      await waiter.rounds(emptyBatch, arrived(0));
    },
    last: async () => {
      await waiter.rounds(batch, { times: 1, ...marked(steps - 1) });
    },
  };
  const verifyStep = (index: number) => {
    if (index < settings.warmUp) return;
    buffers.memory.verify(into.slice(0, size - 1));
  };
  // fabtests count the writes in their last byte, from 0 and including the warm-up.
  if (!withData) arrival.bytes[0] = 0xff;
  await session.sync();
  return await measure(
    waiter,
    {
      steps,
      clockAt: settings.warmUp,
      rounds,
      ...(role === 'server' && serversEnds),
      verify: settings.verify ? verifyStep : undefined,
    },
    settings.statistics,
  );
}

/** The client reads, one read at a time. The server only waits. */
async function measureReads(
  session: Session,
  buffers: Buffers,
  remote: RemoteRegion,
  size: number,
  iterations: number,
): Promise<Timing | undefined> {
  const { settings, role, waiter } = session;
  await session.sync();
  if (role === 'server') {
    await session.syncInBand(session.passiveTimeout);
    return undefined;
  }
  const into = buffers.receiving(size);
  const verifyStep = () => {
    buffers.memory.verify(into);
    buffers.memory.clear(into);
  };
  using batch = session.batch((batch) =>
    batch.read(into, session.peer, remote, { offset: buffers.half }),
  );
  const timing = await measure(
    waiter,
    {
      steps: settings.warmUp + iterations,
      clockAt: settings.warmUp,
      rounds: allAlike((options) => waiter.rounds(batch, options)),
      verify: settings.verify ? verifyStep : undefined,
    },
    settings.statistics,
  );
  if (timing.error === undefined) await session.syncInBand();
  return timing;
}
