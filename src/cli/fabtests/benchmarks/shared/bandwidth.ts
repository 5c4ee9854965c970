import type { Cap } from '../../../../base/flags.js';
import type { Buffers } from '../../common/buffers.js';
import { measure, type Rounds, type Timing, type Work } from '../../common/measure.js';
import type { Session } from '../../common/session.js';
import { type Benchmark, injectsInWindows, type MeasureSize } from './benchmark.js';
import { MessageBatch } from './message-batch.js';
import { alikeFrom, moreIn, type Window, type Windows, windowsOf } from './windows.js';

/** A bandwidth test of fabtests: messages from client to server, a window of them in flight. */
export function bandwidth(
  command: string,
  cap: Cap & ('FI_MSG' | 'FI_TAGGED'),
  summary: string,
): Benchmark {
  return {
    command,
    type: 'FI_EP_RDM',
    summary,
    transfersPerIteration: () => 1,
    bandwidth: true,
    needs: () => ({
      caps: [cap],
      tx: { tclass: 'FI_TC_BULK_DATA' },
      domain: { resourceMgmt: 'FI_RM_ENABLED' },
    }),
    prepare,
  };
}

async function prepare(session: Session, room: number): Promise<MeasureSize> {
  const buffers = await session.allocate(room, 1, ['FI_SEND', 'FI_RECV']);
  buffers.memory.fill(buffers.sending(room));
  return (size, iterations) => measureSize(session, buffers, size, iterations);
}

/** Work in which each window is a step. */
function windowWork(
  { windows, clockAt }: Windows,
  batches: WindowBatches,
  { first, verify, last }: Partial<Work> = {},
): Work {
  return {
    steps: windows.length,
    clockAt,
    weight: (index) => windows[index]?.count ?? 0,
    first,
    rounds: (index) => batches.rounds(index),
    verify,
    last,
  };
}

async function measureSize(
  session: Session,
  buffers: Buffers,
  size: number,
  iterations: number,
): Promise<Timing> {
  const { settings, role, waiter } = session;
  const all = windowsOf(settings.window, settings.warmUp, iterations, false);
  const { windows } = all;
  const batchOf = (make: (batch: MessageBatch, window: Window) => void) =>
    new WindowBatches(session, windows, make);

  if (role === 'client') {
    const inject = injectsInWindows(session, size);
    const from = buffers.sending(size);
    using sends = batchOf((batch, window) => {
      if (window.acknowledged) batch.receive(session.answer);
      const more = moreIn(window, settings);
      for (let i = 0; i < window.count; i++) {
        if (inject) batch.inject(from);
        else batch.send(from, more(i));
      }
    });
    await session.sync();
    return await measure(waiter, windowWork(all, sends), settings.statistics);
  }

  const into = buffers.receiving(size);
  const verifyStep = (index: number) => {
    if (windows[index]?.warmUp || windows[index]?.count === 0) return;
    buffers.memory.verify(into);
    buffers.memory.clear(into);
  };
  const { acknowledgement } = session;
  // The receives of a window are posted before the previous window is acknowledged, so that every
  // message has a receive.
  using receives = batchOf((batch, window) => {
    const more = moreIn(window, settings);
    for (let i = 0; i < window.count; i++) batch.receive(into, more(i));
    if (acknowledgedBefore(windows, window)) batch.send(acknowledgement);
  });
  using last = new MessageBatch(session).send(acknowledgement);
  if (!settings.oobSync) session.postReceive(); // the receive of the sync must be posted first
  const posted = receives.post(0);
  await session.sync();
  const work = windowWork(all, receives, {
    first: () => session.until(posted),
    verify: settings.verify ? verifyStep : undefined,
    last: () => last.complete(),
  });
  return await measure(waiter, work, settings.statistics);
}

const acknowledgedBefore = (windows: readonly Window[], window: Window) =>
  windows[windows.indexOf(window) - 1]?.acknowledged === true;

/** A prepared batch for every kind of window. Most windows are of the same kind. */
class WindowBatches {
  readonly #batches: (MessageBatch | undefined)[];
  readonly #made: MessageBatch[];

  constructor(
    session: Session,
    windows: readonly Window[],
    make: (batch: MessageBatch, window: Window) => void,
  ) {
    const kinds = new Map<string, MessageBatch>();
    this.#batches = windows.map((window, i) => {
      const before = windows[i - 1]?.acknowledged === true;
      const key = [window.count, window.acknowledged, window.warmUp, before].join();
      let batch = kinds.get(key);
      if (batch === undefined) {
        batch = new MessageBatch(session);
        make(batch, window);
        kinds.set(key, batch);
      }
      return batch;
    });
    this.#made = [...kinds.values()];
  }

  /** The successive windows of one kind from `index` on. */
  rounds(index: number): Rounds {
    const batch = this.#batches[index] as MessageBatch;
    return {
      count: alikeFrom(this.#batches, index),
      run: (options) => batch.rounds(options),
    };
  }

  post(index: number): Promise<void> {
    return (this.#batches[index] as MessageBatch).post();
  }

  [Symbol.dispose](): void {
    for (const batch of this.#made) batch.close();
  }
}
