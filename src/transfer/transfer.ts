import type { Readable } from 'node:stream';
import { offAbort, onAbort, reasonOf } from '../base/abort-signals.js';
import type { Reader } from '../base/arrivals.js';
import { asCancellation } from '../base/cancellation.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidState } from '../base/errors.js';
import { type Handle, native } from '../contract/native.js';
import type { Access, TransferState } from '../diagnostics/transfer-state.js';
import type { Course } from './course.js';
import { endedBy, errnoOf, peerLost } from './errors.js';
import { streamed, type TransferMemory } from './memory.js';
import { Outcome } from './outcome.js';
import { type Progress, progressOf } from './progress.js';
import type { RemoteEngine } from './remote-engine.js';
import { reportOf, type TransferReport } from './report.js';
import { ArrivingReadable } from './streams/memory-streams.js';
import type { TransferTrace } from './tracing.js';
import { checkLimits, type Limits, limitsOf } from './transfer-options.js';

const UNCLONEABLE = uncloneable('a Transfer belongs to its engine: await it, and send the report');

/**
 * A write or a read in flight. `await` it for its report.
 *
 * @throws TransferError (by rejection) FI_ETIMEDOUT after the timeout, FI_ECANCELED if the engine
 * is closed, FI_ECONNRESET if the peer is lost or its engine was closed, FI_EKEYREJECTED if the offer has ended, or the error of a
 * slice that no rail could transfer. `error.ambiguous` shows whether the peer's memory may have changed.
 */
export class Transfer implements PromiseLike<TransferReport> {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly access: Access;
  readonly peer: RemoteEngine;
  readonly priority: 'high' | 'normal' | 'low';
  /** Bytes. */
  readonly total: number;
  readonly #course: Course;
  readonly #limits: Limits;
  readonly #previous: Handle<'Transfer'> | undefined;
  readonly #outcome = new Outcome();
  #watchers: Set<() => void> | undefined; // most transfers have none
  readonly #trace: TransferTrace | undefined;
  #handle: Handle<'Transfer'> | undefined;
  #abort: (() => void) | undefined;
  #hasTurn = false;
  // Whether the code that has called write() or read() still runs. What it aborts has never begun.
  #isCalled = true;
  #ended = false;
  #isReleased = false;
  #released: Promise<void> | undefined;
  #release: (() => void) | undefined;

  /** @internal @param previous the native transfer that is repeated. */
  constructor(course: Course, limits: Limits, previous?: Handle<'Transfer'>) {
    this.access = course.access;
    this.peer = course.peer;
    this.priority = course.priority;
    this.total = course.total;
    this.#course = course;
    this.#limits = limits;
    this.#previous = previous;
    course.peer.used(1);
    this.#trace = course.activity.traceOf(this);
    course.admission.enter(this);
    if (this.#hasTurn || limits.signal === undefined) this.#isCalled = false;
    else queueMicrotask(() => (this.#isCalled = false));
    if (!this.#ended) this.#limit(limits);
    this.#trace?.returned();
  }

  /** Resolves when the local memory may be used for something else. It also resolves after a failure. */
  get released(): Promise<void> {
    this.#released ??= this.#isReleased
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#release = resolve;
        });
    return this.#released;
  }

  /** @internal Called when it is the transfer's turn. With a signal, the code that runs now may still abort it. */
  begin(): void {
    this.#hasTurn = true;
    if (this.#limits.signal === undefined) this.#start();
    else queueMicrotask(() => (this.#ended ? this.#free() : this.#start()));
  }

  #start(): void {
    const { events, start } = this.#course;
    try {
      const { handle, id } = start(this.#previous);
      this.#handle = handle;
      events.transfers.set(id, this);
      events.changed();
      this.moved();
    } catch (error) {
      this.#fail(error);
      this.#course.refuse(errnoOf('FI_ECANCELED'));
      this.#free();
    }
  }

  /** @internal Ends the transfer if it waits for its turn and its peer is lost. */
  lost(peer: RemoteEngine, reason: string): void {
    if (peer === this.peer) this.#stop('FI_ECANCELED', peerLost(reason, false));
  }

  /** @internal Ends the transfer if its memory is closed. The peer learns that this side has ended it. */
  memoryClosed(memory: TransferMemory): void {
    if (memory !== this.#course.part.memory || this.#ended) return;
    this.#stop('FI_ECONNABORTED', asCancellation(closed('the memory')));
  }

  #limit({ signal, timeout }: Limits): void {
    this.#course.timeouts.add(this, timeout);
    if (signal === undefined) return;
    this.#abort = () => this.#stop('FI_ECANCELED', reasonOf(signal));
    onAbort(signal, this.#abort);
  }

  /** @internal Called when the transfer has exceeded its timeout. */
  expired(): void {
    const { timeout } = this.#limits;
    const { lostReason } = this.peer;
    const cause = lostReason === undefined ? '' : `; the peer is lost: ${lostReason}`;
    const detail =
      this.done === this.total
        ? `every byte is there, but after ${timeout} ms a copy of a slice may still be in flight`
        : `not finished after ${timeout} ms${cause}`;
    this.#stop('FI_ETIMEDOUT', endedBy('expired', detail, true));
  }

  #stop(code: 'FI_ETIMEDOUT' | 'FI_ECANCELED' | 'FI_ECONNABORTED', reason: unknown): void {
    const started = this.#handle;
    this.#fail(reason);
    if (started !== undefined) native.transferCancel(started, errnoOf(code), '');
    if (this.#hasTurn) return;
    this.#course.admission.cancel(this);
    if (!this.#isCalled) this.#course.refuse(errnoOf(code));
    this.#releaseMemory();
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#end();
    this.#course.activity.transferFailed();
    this.#trace?.failed(error);
    this.#outcome.fail(error);
  }

  #succeed(): void {
    if (this.#ended) return;
    this.#end();
    const report = this.report();
    this.#course.activity.transferDone(report);
    this.#trace?.succeeded(report);
    this.#outcome.succeed(report);
  }

  #end(): void {
    this.#ended = true;
    this.#course.timeouts.delete(this);
    const { signal } = this.#limits;
    if (signal !== undefined && this.#abort !== undefined) offAbort(signal, this.#abort);
  }

  #free(): void {
    this.#course.admission.leave();
    this.#releaseMemory();
  }

  #releaseMemory(): void {
    this.#isReleased = true;
    this.peer.used(-1);
    this.#release?.();
  }

  /** @internal The native transfer has ended. */
  finished(status: number, text: string): void {
    if (status === 0) {
      this.#outcome.arrive();
      return;
    }
    if (this.#ended) return; // its signal or timeout has ended it
    this.#fail(this.#course.events.failure(status, text, this.#handle !== undefined));
  }

  /** @internal A slice has arrived, if there are watchers. */
  moved(): void {
    if (this.#watchers) for (const watcher of this.#watchers) watcher();
  }

  /** @internal No copy of the native transfer is in flight. */
  freed(): void {
    this.#succeed();
    this.#free();
  }

  /** @internal */
  state(): TransferState {
    const { duration, retries } = this.report();
    const { done } = this;
    return {
      access: this.access,
      peer: this.peer.id,
      priority: this.priority,
      state: this.#ended || done === this.total ? 'ending' : 'running',
      done,
      total: this.total,
      duration,
      retries,
    };
  }

  /** @internal Whether its promise has settled. */
  get ended(): boolean {
    return this.#ended;
  }

  /** @internal The bytes that have arrived. */
  get done(): number {
    return this.#handle === undefined ? 0 : native.transferProgress(this.#handle);
  }

  /**
   * Resolves when every byte has arrived: at the peer for a write, at this side for a read. A NIC that is
   * stuck may still have a copy of a slice at that time. The transfer itself resolves when no such copy can
   * arrive any more.
   *
   * Rejects as the transfer does. A failure needs to be handled at only one of the two promises.
   */
  get arrived(): Promise<void> {
    return this.#outcome.arrived;
  }

  /** The report so far. */
  report(): TransferReport {
    return reportOf(this.#handle, this.#course.rails);
  }

  /**
   * Repeats the transfer after it has ended, with one native call. The token must be from an offer
   * with `repeat`, and the peer must have read the last arrival.
   *
   * @param limits a signal and a timeout for the repetition. If the timeout is omitted, it is that of the first
   * transfer. Without a signal, none applies.
   * @throws TransferError (by rejection) FI_EALREADY if the transfer cannot start again, because a slice
   * was sent twice. Ask for another offer then.
   */
  repeat(limits: { signal?: AbortSignal; timeout?: number } = {}): Transfer {
    const started = this.#handle;
    if (started === undefined || !this.#ended) throw invalidState('the transfer has not ended');
    this.peer.checkOpen();
    const { signal, timeout } = checkLimits(limits);
    // The next transfer does not refer to this one. Otherwise it would keep all earlier transfers in memory.
    return new Transfer(this.#course, limitsOf(signal, timeout, this.#limits.timeout), started);
  }

  /**
   * A stream of the bytes of a read, in their order, while they arrive. Its parts are views of the memory of the transfer,
   * so the bytes must stay as they are until the stream and its reader have ended. The stream fails as the transfer does.
   * For more bytes than memory, use remote.download().
   *
   * @throws Error ERR_INVALID_STATE if the transfer is a write, or if the memory is on a device.
   */
  readable(): Readable {
    if (this.access !== 'read') throw invalidState('the transfer is not a read');
    return new ArrivingReadable({
      memory: streamed(this.#course.part),
      leading: () => (this.#handle === undefined ? 0 : native.transferLeading(this.#handle)),
      watch: (moved) => {
        this.#watchers ??= new Set();
        const watchers = this.#watchers;
        watchers.add(moved);
        return () => watchers.delete(moved);
      },
      arrived: this.arrived,
    });
  }

  /**
   * Reports the progress of the transfer at once, every 50 ms, and when the transfer has ended. Each
   * iterator gets all reports. If the transfer rejects, the iterator throws the same error.
   */
  progress(): Reader<Progress> {
    return progressOf(() => ({ done: this.done, total: this.total }), this.#outcome);
  }

  // biome-ignore lint/suspicious/noThenProperty: a transfer is awaited
  then<A = TransferReport, B = never>(
    onFulfilled?: ((report: TransferReport) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#outcome.end.then(onFulfilled, onRejected);
  }

  /** Like catch() of a promise. */
  catch<B = never>(
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<TransferReport | B> {
    return this.#outcome.end.catch(onRejected);
  }

  /** Like finally() of a promise. */
  finally(onFinally?: (() => void) | null): Promise<TransferReport> {
    return this.#outcome.end.finally(onFinally);
  }
}
