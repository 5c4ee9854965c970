import { errnoByCode } from '../base/error-codes.js';
import { Timeouts } from '../base/timeouts.js';
import { notCompletedAfter } from '../base/wait-options.js';
import type { Failure } from './failure.js';

/** The failure of a call that has timed out. */
export const overdue = (syscall: string, milliseconds: number): Failure => ({
  errno: errnoByCode.FI_ETIMEDOUT,
  syscall,
  text: notCompletedAfter(milliseconds),
  provErrno: 0,
});

interface Watched {
  readonly syscall: string;
  readonly milliseconds: number;
  isOver: boolean;
}

/**
 * The requests with a timeout. A request that exceeds its timeout is cancelled, as a signal cancels
 * it.
 */
export class Deadlines {
  readonly #watched = new Map<number, Watched>();
  readonly #timeouts: Timeouts<number>;

  /**
   * @param keepLoop whether the timeouts keep the event loop alive. With most drivers the requests do.
   */
  constructor(cancel: (request: number) => void, keepLoop: boolean) {
    this.#timeouts = new Timeouts((request) => {
      const watched = this.#watched.get(request);
      if (watched === undefined) return;
      watched.isOver = true;
      cancel(request);
    }, keepLoop);
  }

  keepLoop(on: boolean): void {
    this.#timeouts.keepLoop(on);
  }

  /** @param syscall the call of the request, for the error: `'fi_cq_read'`. */
  watch(request: number, milliseconds: number, syscall: string): void {
    this.#watched.set(request, { syscall, milliseconds, isOver: false });
    this.#timeouts.add(request, milliseconds);
  }

  /** The failure of a request that timed out. Undefined if it did not. */
  failureOf(request: number): Failure | undefined {
    const watched = this.#watched.get(request);
    return watched?.isOver ? overdue(watched.syscall, watched.milliseconds) : undefined;
  }

  close(): void {
    this.#timeouts.close();
  }

  forget(request: number): void {
    if (this.#watched.delete(request)) this.#timeouts.delete(request);
  }
}
