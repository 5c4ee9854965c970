import type { Wait } from '../wait-options.js';

interface Taker<T> {
  resolve(result: IteratorResult<T>): void;
  reject(reason: unknown): void;
}

/** What has arrived and nobody has taken, in order. */
export interface Left<T> {
  readonly values: T[];
  readonly errors: unknown[];
}

/**
 * What has arrived and waits to be taken, or the takers that wait: the core of an async iterator. Its
 * first rejection is its end, as that of an async generator: a loop calls no return() then.
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
   * @param wait how long each taker waits, and the signal that ends it all.
   * @param overdue what a taker rejects with whose time is over.
   * @param failed called when a rejection has ended it.
   */
  constructor(wait: Wait, overdue: (milliseconds: number) => unknown, failed: () => void) {
    const { signal, timeout } = wait;
    this.#timeout = timeout;
    this.#overdue = overdue;
    this.#failed = failed;
    if (signal === undefined) return;
    const onAbort = () => this.#abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#forget = () => signal.removeEventListener('abort', onAbort);
  }

  /** Takers that wait. */
  get awaited(): number {
    return this.#takers.length;
  }

  /** What has arrived and nobody has taken. */
  get waiting(): number {
    return this.#items.length;
  }

  /** Whether stop() was called: what arrives from then on is its caller's. */
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

  /** Nothing comes any more; what has arrived can be taken. */
  end(): void {
    this.#end ??= {};
    this.#forget?.();
    for (const taker of this.#takers.splice(0)) taker.resolve({ value: undefined, done: true });
  }

  /** Nothing comes any more; returns what has arrived. */
  stop(): Left<T> {
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

  /** Takes what is there, without waiting. */
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
