import { offAbort, onAbort, reasonOf } from '../abort-signals.js';
import type { Wait } from '../wait-options.js';

interface Taker<T> {
  resolve(result: IteratorResult<T>): void;
  reject(reason: unknown): void;
}

/** The untaken items, in order. */
export interface UntakenItems<T> {
  readonly values: T[];
  readonly errors: unknown[];
}

/**
 * The core of an async iterator: a queue of arrived items, or of pending next() calls ("takers").
 * The first rejection ends it, as it ends an async generator: a loop does not call return() then.
 */
export class Arrivals<T> {
  readonly #timeout: number | undefined;
  readonly #overdue: (milliseconds: number) => unknown;
  readonly #failed: () => void;
  #items: ({ value: T } | { error: unknown })[] = [];
  #takers: Taker<T>[] = [];
  #end: { reason?: unknown } | undefined;
  #forget: (() => void) | undefined;
  #stopped = false;

  /**
   * @param wait the timeout of each taker, and the signal that ends the queue.
   * @param overdue makes the error of a taker that timed out.
   * @param failed called when a rejection has ended the queue.
   */
  constructor(wait: Wait, overdue: (milliseconds: number) => unknown, failed: () => void) {
    const { signal, timeout } = wait;
    this.#timeout = timeout;
    this.#overdue = overdue;
    this.#failed = failed;
    if (signal === undefined) return;
    const abort = () => this.#abort(reasonOf(signal));
    onAbort(signal, abort);
    this.#forget = () => offAbort(signal, abort);
  }

  /** The number of pending takers. */
  get awaited(): number {
    return this.#takers.length;
  }

  /** The number of untaken items. */
  get waiting(): number {
    return this.#items.length;
  }

  /** Whether stop() was called. Later arrivals belong to its caller. */
  get stopped(): boolean {
    return this.#stopped;
  }

  push(value: T): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#items.push({ value });
    else taker.resolve({ value, done: false });
  }

  fail(error: unknown): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#items.push({ error });
    else this.#reject(taker, error);
  }

  /** Ends the queue. Items that have arrived can still be taken. */
  end(): void {
    this.#end ??= {};
    this.#forget?.();
    for (const taker of this.#takers.splice(0)) taker.resolve({ value: undefined, done: true });
  }

  /** Ends the queue and returns the untaken items. */
  stop(): UntakenItems<T> {
    this.#stopped = true;
    this.end();
    const items = this.#items.splice(0);
    return {
      values: items.flatMap((item) => ('error' in item ? [] : [item.value])),
      errors: items.flatMap((item) => ('error' in item ? [item.error] : [])),
    };
  }

  #abort(reason: unknown): void {
    if (this.#end !== undefined) return;
    this.#end = { reason };
    for (const taker of this.#takers.splice(0)) taker.reject(reason);
    this.#failed();
  }

  #reject(taker: Taker<T>, error: unknown): void {
    taker.reject(error);
    this.end();
    this.#failed();
  }

  /** Takes an arrived item without waiting. */
  takeNow(): T | undefined {
    const [item] = this.#items;
    if (item === undefined || 'error' in item) return undefined;
    this.#items.shift();
    return item.value;
  }

  take(): Promise<IteratorResult<T>> {
    if (this.#end !== undefined && 'reason' in this.#end) return Promise.reject(this.#end.reason);
    const item = this.#items.shift();
    if (item !== undefined) {
      if (!('error' in item)) return Promise.resolve({ value: item.value, done: false });
      return new Promise((resolve, reject) => this.#reject({ resolve, reject }, item.error));
    }
    if (this.#end === undefined) return this.#wait();
    return Promise.resolve({ value: undefined, done: true });
  }

  #wait(): Promise<IteratorResult<T>> {
    const timeout = this.#timeout;
    const waiting = new Promise<IteratorResult<T>>((resolve, reject) => {
      this.#takers.push({ resolve, reject });
    });
    if (timeout === undefined) return waiting;
    const taker = this.#takers.at(-1) as Taker<T>;
    const timer = setTimeout(() => {
      this.#takers = this.#takers.filter((each) => each !== taker);
      this.#reject(taker, this.#overdue(timeout));
    }, timeout);
    return waiting.finally(() => clearTimeout(timer));
  }
}
