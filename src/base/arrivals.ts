import { offAbort, onAbort, reasonOf } from './abort-signals.js';
import { Deferred } from './deferred.js';
import { TimeLimit } from './time-limit.js';
import type { Wait } from './wait-options.js';

/** A pending call of next(), and the iterator that it belongs to. */
interface Call<T> {
  readonly reader: object;
  resolve(result: IteratorResult<T>): void;
  reject(reason: unknown): void;
}

/** The untaken items, in order. */
export interface UntakenItems<T> {
  readonly values: T[];
  readonly errors: unknown[];
}

/** The callbacks of a queue's owner. */
export interface ArrivalsOwner<T> {
  /** A call of next() has got an item. */
  taken?(value: T): void;
  /** A rejection has ended the queue: a loop does not call return() then. */
  failed?(): void;
  /** Calls begin (> 0) or end (< 0) to wait. */
  waits?(change: number): void;
  /** Makes the error of a call that timed out. */
  overdue?(milliseconds: number): unknown;
}

const DONE = { value: undefined, done: true } as const;

/**
 * A queue of arrived items, or of calls that wait for one: the core of every async iterator. Each
 * item goes to one call, in the order of the calls, whichever reader they belong to. The first item
 * that is an error ends the queue, as an error ends an async generator.
 */
export class Arrivals<T> {
  readonly #owner: ArrivalsOwner<T>;
  readonly #timeout: number | undefined;
  readonly #unref: boolean;
  #items: ({ value: T } | { error: unknown })[] = [];
  #calls: Call<T>[] = [];
  #end: { reason?: () => unknown } | undefined;
  #forget: (() => void) | undefined;
  #stopped = false;

  /** @param wait the timeout of each call, and the signal that ends the queue. */
  constructor(owner: ArrivalsOwner<T> = {}, wait: Partial<Wait> = {}) {
    const { signal, timeout, unref = false } = wait;
    this.#owner = owner;
    this.#timeout = timeout;
    this.#unref = unref;
    if (signal === undefined) return;
    const abort = () => this.#abort(reasonOf(signal));
    onAbort(signal, abort);
    this.#forget = () => offAbort(signal, abort);
  }

  /** The number of untaken items. */
  get waiting(): number {
    return this.#items.length;
  }

  /** Whether a call waits for an item. */
  get awaited(): boolean {
    return this.#calls.length > 0;
  }

  /** Whether stop() was called. Later arrivals belong to its caller. */
  get stopped(): boolean {
    return this.#stopped;
  }

  push(value: T): void {
    const call = this.#oldestCall();
    if (call === undefined) this.#items.push({ value });
    else this.#give(call, value);
  }

  #give(call: Call<T>, value: T): void {
    call.resolve({ value, done: false });
    this.#owner.taken?.(value);
  }

  fail(error: unknown): void {
    const call = this.#oldestCall();
    if (call === undefined) this.#items.push({ error });
    else this.#reject(call, error);
  }

  /** Ends the queue. Items that have arrived can still be taken. */
  end(): void {
    this.#end ??= {};
    this.#forget?.();
    for (const call of this.#remove(() => true)) call.resolve(DONE);
  }

  /** Ends the queue with an error: all calls reject once the items that have arrived are taken. */
  endWith(reason: unknown): void {
    this.endBy(() => reason);
  }

  /** The same. The error is made only when a call rejects with it. */
  endBy(reason: () => unknown): void {
    if (this.#end !== undefined) return;
    this.#end = { reason };
    this.#forget?.();
    for (const call of this.#remove(() => true)) call.reject(reason());
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
    this.endWith(reason);
    this.#owner.failed?.();
  }

  #reject(call: Call<T>, error: unknown): void {
    call.reject(error);
    this.end();
    this.#owner.failed?.();
  }

  #oldestCall(): Call<T> | undefined {
    const call = this.#calls.shift();
    if (call !== undefined) this.#owner.waits?.(-1);
    return call;
  }

  #remove(isRemoved: (call: Call<T>) => boolean): Call<T>[] {
    const removed: Call<T>[] = [];
    const kept: Call<T>[] = [];
    for (const call of this.#calls) (isRemoved(call) ? removed : kept).push(call);
    this.#calls = kept;
    if (removed.length > 0) this.#owner.waits?.(-removed.length);
    return removed;
  }

  /** Ends the calls of a reader. Items go to the calls of others. */
  withdraw(reader: object): void {
    for (const call of this.#remove((each) => each.reader === reader)) call.resolve(DONE);
  }

  /** Takes an arrived item without waiting. */
  takeNow(): T | undefined {
    const [item] = this.#items;
    if (item === undefined || 'error' in item) return undefined;
    this.#items.shift();
    this.#owner.taken?.(item.value);
    return item.value;
  }

  /** The next item, for a reader that may withdraw. */
  take(reader: object = this): Promise<IteratorResult<T>> {
    const item = this.#items.shift();
    if (item !== undefined && !('error' in item)) {
      this.#owner.taken?.(item.value);
      return Promise.resolve({ value: item.value, done: false });
    }
    if (item !== undefined) {
      return new Promise((resolve, reject) =>
        this.#reject({ reader, resolve, reject }, item.error),
      );
    }
    if (this.#end === undefined) return this.#wait(reader);
    const { reason } = this.#end;
    return reason === undefined ? Promise.resolve(DONE) : Promise.reject(reason());
  }

  #wait(reader: object): Promise<IteratorResult<T>> {
    const timeout = this.#timeout;
    const { promise, resolve, reject } = new Deferred<IteratorResult<T>>();
    const call = { reader, resolve, reject };
    this.#calls.push(call);
    this.#owner.waits?.(1);
    if (timeout === undefined) return promise;
    const limit = new TimeLimit(timeout, () => {
      this.#remove((each) => each === call);
      this.#reject(call, this.#owner.overdue?.(timeout));
    });
    if (this.#unref) limit.unref();
    return promise.finally(() => limit.clear());
  }
}

/**
 * An async iterator. A source may have several at once. The documentation of the call that returns
 * them states whether each iterator gets every item, or each item goes to one iterator: to the oldest pending call
 * of next(). Calls may overlap. When the source ends, all of them settle.
 */
export class Reader<T> implements AsyncIterableIterator<T> {
  readonly #arrivals: Arrivals<T>;
  readonly #left: (() => void) | undefined;
  #hasLeft = false;

  /** @internal `left` is called once, when return() has ended the iteration. */
  constructor(arrivals: Arrivals<T>, left?: () => void) {
    this.#arrivals = arrivals;
    this.#left = left;
  }

  /** The next item. */
  next(): Promise<IteratorResult<T>> {
    return this.#hasLeft ? Promise.resolve(DONE) : this.#arrivals.take(this);
  }

  /**
   * Ends the iteration, as leaving a loop does. Pending calls of next() resolve as done. Untaken items remain
   * for the other iterators.
   */
  return(): Promise<IteratorResult<T>> {
    if (!this.#hasLeft) {
      this.#hasLeft = true;
      this.#arrivals.withdraw(this);
      this.#left?.();
    }
    return Promise.resolve(DONE);
  }

  /** Returns the iterator itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the iteration: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
