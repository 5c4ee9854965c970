import { RESERVED } from '../common/buffers.js';
import { dialectOf, usualRelease } from '../common/dialect.js';
import { measure, type Rounds, type Timing, type Work } from '../common/measure.js';
import { nicsOption } from '../common/options.js';
import { exchangeKeys, RMA_ACCESS } from '../common/rma.js';
import type { Session, TestBatch } from '../common/session.js';
import type { Settings } from '../common/settings.js';
import type { Waiter } from '../common/waiter.js';
import type { Benchmark, MeasureSize } from './shared/benchmark.js';
import { Arrivals, kindOf, RmaTransfers, rmaCaps } from './shared/rma.js';
import { prepareNics } from './shared/rma-nics.js';
import { alikeFrom, type Window, windowsOf } from './shared/windows.js';

/** fabtests' bandwidth of RMA, a window of operations in flight. */
export const rmaBandwidth: Benchmark = {
  command: 'rma-bw',
  type: 'FI_EP_RDM',
  summary: 'bandwidth of RMA',
  description:
    'Measures the bandwidth of RMA. Both sides write or read at once, and each side measures its transfers. ' +
    'Writes with data go from the client to the server. With --nics on both sides, several NICs ' +
    "transfer at once, and each NIC's bandwidth is printed below the row.",
  operations: ['write', 'read', 'writedata'],
  transfersPerIteration: () => 1,
  bandwidth: true,
  caveat: ({ operation }) =>
    operation === 'writedata'
      ? undefined
      : 'both sides transfer at once: the network carries twice what each of them measures',
  needs: (settings) => ({
    caps: rmaCaps(settings.operation),
    tx: {
      tclass: 'FI_TC_BULK_DATA',
      ...(verifiesWindows(settings) && { opFlags: ['FI_DELIVERY_COMPLETE'] as const }),
    },
    domain: { resourceMgmt: 'FI_RM_ENABLED' },
  }),
  options: () => [nicsOption()],
  prepare,
};

// Written data can only be verified once it is known to have arrived.
const verifiesWindows = ({ verify, operation, release }: Settings) =>
  verify && operation !== 'writedata' && dialectOf(release ?? usualRelease()).spreads;

async function prepare(session: Session, room: number): Promise<MeasureSize> {
  if (session.settings.nics !== undefined) return prepareNics(session, room);
  const { spreads } = session.dialect;
  const places = spreads ? session.settings.window : 1;
  const buffers = await session.allocate(room, places, RMA_ACCESS);
  const arrivals = new Arrivals(session); // created before the first write can arrive
  const remote = await exchangeKeys(session, buffers);
  buffers.memory.fill(buffers.sending(room * places, spreads ? RESERVED : 0));
  if (session.settings.operation !== 'writedata') {
    return (size, iterations) => new BothWays(session, buffers, remote, size).measure(iterations);
  }
  return (size, iterations) =>
    new WritesWithData(arrivals, session, buffers, remote, size).measure(iterations);
}

/** The successive windows from `index` on that use the same batch. */
const roundsFrom = (
  waiter: Waiter,
  batches: readonly (TestBatch | undefined)[],
  index: number,
): Rounds => ({
  count: alikeFrom(batches, index),
  run: (options) => waiter.rounds(batches[index] as TestBatch, options),
});

/** Writes or reads of both sides at once. No message acknowledges them. */
class BothWays extends RmaTransfers {
  async measure(iterations: number): Promise<Timing> {
    const { session } = this;
    const { settings, waiter } = session;
    const { drains, spreads } = session.dialect;
    const all = windowsOf(settings.window, settings.warmUp, iterations, drains);
    const verify = settings.verify && spreads;
    // There is no last acknowledgement here. If data is verified, the sides synchronize once more.
    const windows = all.windows.filter(({ count }) => count > 0 || verify);
    const clockAt = windows.findIndex((window) => !window.warmUp);
    const batches = windows.map((window) =>
      window.count === 0
        ? undefined
        : this.batch(kindOf(window), (batch) => this.add(batch, window)),
    );
    const work = {
      steps: windows.length,
      clockAt,
      weight: (index: number) => windows[index]?.count ?? 0,
      rounds: verify ? undefined : (index: number) => roundsFrom(waiter, batches, index),
      step: verify
        ? (index: number) => this.#verifiedStep(windows[index] as Window, batches[index])
        : undefined,
    };
    await session.syncBeforeRma();
    const timing = await measure(waiter, work, settings.statistics);
    this.close();
    return timing;
  }

  /** Runs a window and verifies its data, as fabtests do since 1.19. */
  async #verifiedStep(window: Window, batch: TestBatch | undefined) {
    const { session, buffers, size } = this;
    if (window.count > 0 && window.from === 0) {
      buffers.memory.clear(buffers.receiving(size * session.settings.window, RESERVED));
      await session.syncBeforeRma();
    }
    if (batch) await session.complete(batch);
    if (!window.acknowledged) return;
    if (session.settings.operation === 'write') await session.syncBeforeRma();
    buffers.memory.verify(buffers.receiving(size * (window.from + window.count), RESERVED));
  }
}

/** Writes with data from the client to the server, which acknowledges every window. */
class WritesWithData extends RmaTransfers {
  readonly #arrivals: Arrivals;

  constructor(arrivals: Arrivals, ...transfers: ConstructorParameters<typeof RmaTransfers>) {
    super(...transfers);
    this.#arrivals = arrivals;
  }

  async measure(iterations: number): Promise<Timing> {
    const { session, buffers, size } = this;
    const { settings, waiter } = session;
    const { drains } = session.dialect;
    const { windows, clockAt } = windowsOf(settings.window, settings.warmUp, iterations, drains);
    if (settings.verify) buffers.memory.clear(buffers.receiving(size, this.offset(0)));
    await session.sync();
    const timing = await measure(
      waiter,
      {
        steps: windows.length,
        clockAt,
        weight: (index) => windows[index]?.count ?? 0,
        ...this.#work(windows),
      },
      settings.statistics,
    );
    this.close();
    return timing;
  }

  #work(windows: readonly Window[]): Partial<Work> {
    const { session } = this;
    const { waiter, role, settings } = session;
    if (role === 'server') return { step: (index) => this.#receive(windows[index] as Window) };
    const batches = windows.map((window) => this.#writes(window));
    if (!settings.verify) return { rounds: (index) => roundsFrom(waiter, batches, index) };
    return {
      step: async (index) => {
        await this.#syncBefore(windows[index] as Window);
        await session.complete(batches[index] as TestBatch);
      },
    };
  }

  /** The writes of a window, and the receives of the messages that answer them. */
  #writes(window: Window): TestBatch {
    const { session } = this;
    const answers = this.#messagesWith(window) + (window.acknowledged ? 1 : 0);
    return this.batch(`${kindOf(window)} ${answers}`, (batch) => {
      for (let i = 0; i < answers; i++) batch.recv(session.answer);
      this.add(batch, window);
    });
  }

  async #receive(window: Window): Promise<void> {
    const { session, size } = this;
    const { from, count, acknowledged } = window;
    await this.#syncBefore(window);
    await this.#sendMessages(this.#messagesWith(window));
    await this.#arrivals.wait(count);
    if (!acknowledged) return;
    const { spreads } = session.dialect;
    if (!spreads) this.#verify(window, size);
    await this.#sendMessages(1);
    if (spreads) this.#verify(window, size * (from + count));
  }

  // Since 2.4 the server also sends a message for every write of the warm-up.
  #messagesWith(window: Window): number {
    return window.warmUp && this.session.dialect.drains ? window.count : 0;
  }

  async #sendMessages(messages: number): Promise<void> {
    if (messages === 0) return;
    const { acknowledgement, peer } = this.session;
    const batch = this.batch(`${messages} messages`, (batch) => {
      for (let i = 0; i < messages; i++) batch.send(acknowledgement, peer);
    });
    await this.session.complete(batch);
  }

  /** With -v, since 1.19, both sides synchronize before a window. */
  async #syncBefore(window: Window): Promise<void> {
    const { session, buffers, size } = this;
    const { verify } = session.settings;
    if (!verify || !session.dialect.spreads || window.from > 0 || window.count === 0) return;
    buffers.memory.clear(buffers.receiving(size * session.settings.window, RESERVED));
    await session.sync();
  }

  #verify(window: Window, bytes: number): void {
    const { session, buffers } = this;
    if (!session.settings.verify || window.count === 0 || window.warmUp) return;
    buffers.memory.verify(buffers.receiving(bytes, this.offset(0)));
  }
}
