import { errnoByCode } from '../base/error-codes.js';
import { notCompletedAfter } from '../base/wait-options.js';
import type { Failure } from './failure.js';

/** The failure of a call that has timed out. */
export const overdue = (syscall: string, milliseconds: number): Failure => ({
  errno: errnoByCode.FI_ETIMEDOUT,
  syscall,
  text: notCompletedAfter(milliseconds),
  provErrno: 0,
});

/**
 * The requests with a timeout. A request that exceeds its timeout is cancelled, as a signal cancels
 * it.
 */
export class Deadlines {
  readonly #timers = new Map<number, NodeJS.Timeout>();
  readonly #overdue = new Map<number, Failure>();
  readonly #cancel: (request: number) => void;
  #keepLoop: boolean;

  /**
   * @param keepLoop whether the timers keep the event loop alive. With most drivers the requests do.
   */
  constructor(cancel: (request: number) => void, keepLoop: boolean) {
    this.#cancel = cancel;
    this.#keepLoop = keepLoop;
  }

  keepLoop(on: boolean): void {
    this.#keepLoop = on;
    for (const timer of this.#timers.values()) on ? timer.ref() : timer.unref();
  }

  /** @param syscall the call of the request, for the error: `'fi_cq_read'`. */
  watch(request: number, milliseconds: number, syscall: string): void {
    const timer = setTimeout(() => {
      this.#overdue.set(request, overdue(syscall, milliseconds));
      this.#cancel(request);
    }, milliseconds);
    if (!this.#keepLoop) timer.unref();
    this.#timers.set(request, timer);
  }

  /** The failure of a request that timed out. Undefined if it did not. */
  failureOf(request: number): Failure | undefined {
    return this.#overdue.get(request);
  }

  forget(request: number): void {
    if (this.#timers.size === 0) return;
    clearTimeout(this.#timers.get(request));
    this.#timers.delete(request);
    this.#overdue.delete(request);
  }
}
