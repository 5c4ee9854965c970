import type { RemoteRegion } from '../../../memory/remote-region.js';
import type { Buffers } from '../common/buffers.js';
import { allAlike, measure } from '../common/measure.js';
import { exchangeKeys, RMA_ACCESS } from '../common/rma.js';
import type { Session } from '../common/session.js';
import { type Benchmark, injects, type MeasureSize } from './shared/benchmark.js';
import { Arrivals, addWrite, rmaNeeds } from './shared/rma.js';

/** The time until a write completes at its writer: fabtests' fi_rma_tx_completion, since 2.4. */
export const rmaTxCompletion: Benchmark = {
  command: 'rma-tx-completion',
  type: 'FI_EP_RDM',
  summary: 'time until a write completes at its writer',
  description:
    'Measures the time until a write completes at its writer. The client writes, one write at a time.',
  operations: ['write', 'writedata'],
  transfersPerIteration: () => 1,
  bandwidth: false,
  unverifiable: () => 'nothing waits for the data to arrive; use rma-bw',
  caveat: () => 'an injected write (see -j) completes when it is posted',
  needs: rmaNeeds,
  prepare,
};

async function prepare(session: Session, room: number): Promise<MeasureSize> {
  const buffers = await session.allocate(room, 1, RMA_ACCESS);
  const arrivals = new Arrivals(session); // created before the first write can arrive
  const remote = await exchangeKeys(session, buffers);
  buffers.memory.fill(buffers.sending(room));
  return async (size, iterations) => {
    await session.sync();
    if (session.role === 'client') return write(session, buffers, remote, size, iterations);
    await watch(session, arrivals, iterations);
    return undefined;
  };
}

async function write(
  session: Session,
  buffers: Buffers,
  remote: RemoteRegion,
  size: number,
  iterations: number,
) {
  const { settings, waiter } = session;
  using batch = session.batch((batch) =>
    addWrite(batch, session, buffers.sending(size), remote, injects(session, size)),
  );
  const timing = await measure(
    waiter,
    {
      steps: settings.warmUp + iterations,
      clockAt: settings.warmUp,
      rounds: allAlike((options) => waiter.rounds(batch, options)),
    },
    settings.statistics,
  );
  if (timing.error === undefined) await session.sync();
  return timing;
}

/** The server's side: waits for the writes. */
async function watch(session: Session, arrivals: Arrivals, iterations: number): Promise<void> {
  const { operation, warmUp } = session.settings;
  if (operation === 'writedata') {
    await arrivals.wait(warmUp + iterations, session.passiveTimeout);
  }
  await session.sync(session.passiveTimeout);
}
