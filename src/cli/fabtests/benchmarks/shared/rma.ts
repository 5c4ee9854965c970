import type { Cap } from '../../../../base/flags.js';
import type { RmaOptions } from '../../../../endpoint/rma-options.js';
import type { RegionSlice } from '../../../../memory/memory-region.js';
import type { RemoteRegion } from '../../../../memory/remote-region.js';
import { type Buffers, RESERVED } from '../../common/buffers.js';
import type { Needs } from '../../common/open-endpoint.js';
import { remoteData } from '../../common/rma.js';
import type { Session, TestBatch } from '../../common/session.js';
import type { Operation, Settings } from '../../common/settings.js';
import { injectsInWindows } from './benchmark.js';
import { moreIn, type Window } from './windows.js';

/** The capabilities that an RMA test asks for. */
export function rmaCaps(operation: Operation | undefined): Cap[] {
  const direction: Cap[] =
    operation === 'read' ? ['FI_READ', 'FI_REMOTE_READ'] : ['FI_WRITE', 'FI_REMOTE_WRITE'];
  return ['FI_MSG', 'FI_RMA', ...direction];
}

/** The requirements of an RMA test. */
export const rmaNeeds = ({ operation }: Settings): Needs => ({
  caps: rmaCaps(operation),
  domain: { resourceMgmt: 'FI_RM_ENABLED' },
});

/** Counts the writes with data that arrive, whatever their data. */
export class Arrivals {
  readonly #session: Session;
  readonly #emptyBatch: TestBatch & Disposable;

  constructor(session: Session) {
    this.#session = session;
    this.#emptyBatch = session.batch(() => {});
  }

  /** Waits for `count` more. */
  async wait(count: number, seconds?: number): Promise<void> {
    if (count === 0) return;
    const until = { immediates: count };
    await this.#session.waiter.rounds(this.#emptyBatch, { until }, seconds);
  }

  [Symbol.dispose](): void {
    this.#emptyBatch[Symbol.dispose]();
  }
}

/** Adds a write according to the options: with or without data, injected or not. */
export function addWrite(
  batch: TestBatch,
  session: Session,
  from: RegionSlice,
  remote: RemoteRegion,
  inject: boolean,
  options: RmaOptions = {},
): void {
  const { peer, settings } = session;
  if (settings.operation === 'writedata') {
    const data = remoteData(session);
    if (inject) batch.injectWritedata(from.bytes, data, peer, remote, options);
    else batch.writedata(from, data, peer, remote, options);
  } else if (inject) batch.injectWrite(from.bytes, peer, remote, options);
  else batch.write(from, peer, remote, options);
}

/** A key that is equal for windows with the same operations. */
export const kindOf = ({ from, count, warmUp }: Window) => [from, count, warmUp].join();

/** RMA operations of one size: prepared batches for every kind of window. */
export class RmaTransfers {
  readonly session: Session;
  readonly buffers: Buffers;
  readonly size: number;
  readonly #remote: RemoteRegion;
  readonly #batches = new Map<string, TestBatch>();

  constructor(session: Session, buffers: Buffers, remote: RemoteRegion, size: number) {
    this.session = session;
    this.buffers = buffers;
    this.size = size;
    this.#remote = remote;
  }

  /** The offset in a half of the place of operation `index` of a window. */
  offset(index: number): number {
    return this.session.dialect.spreads ? RESERVED + index * this.size : 0;
  }

  /** The batch of a `key`. It is created on first use. */
  batch(key: string, fill: (batch: TestBatch) => void) {
    let batch = this.#batches.get(key);
    if (batch === undefined) {
      batch = this.session.batch(fill);
      this.#batches.set(key, batch);
    }
    return batch;
  }

  /** Adds the operations of a window. */
  add(batch: TestBatch, window: Window): void {
    const { session, buffers, size } = this;
    const { operation, verify } = session.settings;
    // Verified data must have arrived, so its operations must report a completion. Injects report
    // none.
    const inject = injectsInWindows(session, size) && !(verify && session.dialect.spreads);
    const more = moreIn(window, session.settings);
    for (let i = window.from; i < window.from + window.count; i++) {
      const offset = this.offset(i);
      if (operation === 'read') {
        const away = session.dialect.spreads ? buffers.half + offset : offset;
        const into = buffers.receiving(size, offset);
        batch.read(into, session.peer, this.#remote, { offset: away });
      } else {
        const options = inject ? { offset } : { offset, ...more(i - window.from) };
        addWrite(batch, session, buffers.sending(size, offset), this.#remote, inject, options);
      }
    }
  }

  close(): void {
    for (const batch of this.#batches.values()) if (batch.inFlight === 0) batch.close();
  }
}
