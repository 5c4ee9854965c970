import { asCancellation, cancellable, countAsHandled } from '../base/cancellation.js';
import { checkInteger, checkOptions, checkString, namesOf } from '../base/checks.js';
import { Deferred } from '../base/deferred.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidArgValue } from '../base/errors.js';
import { checkWait, type WaitOptions, within } from '../base/wait-options.js';
import type { MemoryPoolState, MemoryPoolStats } from '../diagnostics/transfer-state.js';
import { MemoryLease } from './lease.js';
import type { TransferMemory } from './memory.js';
import type { AllocateMemoryOptions } from './registration.js';

const UNCLONEABLE = uncloneable('a MemoryPool belongs to its engine: make one on each engine');
const MAX_COUNT = 2 ** 20;
const NAMES = namesOf<MemoryPoolOptions>({
  size: 1,
  count: 1,
  maxBytes: 1,
  name: 1,
  nics: 1,
  hugePages: 1,
  shared: 1,
  numaNode: 1,
});

/** Options of `engine.pool()`: either `count` or `maxBytes`, and those of `engine.allocate()`. */
export interface MemoryPoolOptions extends AllocateMemoryOptions {
  /** Bytes of each buffer. */
  readonly size: number;
  /** The most buffers. */
  readonly count?: number;
  /** The most bytes of all buffers. */
  readonly maxBytes?: number;
  /** The pool's name in metrics and dumps. If omitted, its number among the pools of the engine, from 1. */
  readonly name?: string;
}

/** Checks how many buffers a pool may have. `allocation`: the options for each. */
export function checkPoolOptions(given: MemoryPoolOptions) {
  const { size, count, maxBytes, name, ...allocation } = checkOptions('options', given, NAMES);
  if (name !== undefined) checkString('options.name', name);
  const each = checkInteger('options.size', size, 1);
  if ((count === undefined) === (maxBytes === undefined))
    throw invalidArgValue('options', 'must have either count or maxBytes');
  const most =
    count === undefined
      ? Math.floor(checkInteger('options.maxBytes', maxBytes, each) / each)
      : checkInteger('options.count', count, 1, MAX_COUNT);
  return { size: each, count: most, name, allocation };
}

/** The engine of a pool. */
export interface PoolOwner {
  /** Makes a buffer. */
  allocate(): Promise<TransferMemory>;
  forget(pool: MemoryPool): void;
}

/**
 * Registered memory for many uses in turn. Buffers are allocated when they are first needed, and kept until the pool is
 * closed. While all are in use, acquire() waits.
 *
 * @example
 * ```ts
 * const pool = engine.pool({ size: 1024 * 1024, count: 64 });
 * using lease = await pool.acquire(bytes.length);
 * lease.bytes.set(bytes);
 * await remote.write(lease, token);
 * ```
 */
export class MemoryPool {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly name: string;
  /** Bytes of each buffer. */
  readonly size: number;
  /** The most buffers. */
  readonly count: number;
  readonly #owner: PoolOwner;
  readonly #free: TransferMemory[] = [];
  readonly #leases = new Set<MemoryLease>();
  readonly #waiting: Deferred<TransferMemory>[] = [];
  readonly #empty = new Deferred<void>();
  #buffers = 0; // also those that are being allocated
  #acquired = 0;
  #waits = 0;
  #ended: 'the pool' | 'the transfer engine' | undefined; // what was closed
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(name: string, size: number, count: number, owner: PoolOwner) {
    this.name = name;
    this.size = size;
    this.count = count;
    this.#owner = owner;
  }

  /**
   * Gets a buffer, in the order of the calls.
   *
   * @param length bytes, at most those of a buffer. If omitted, all of these.
   * @throws RangeError ERR_OUT_OF_RANGE. FabricError FI_ETIMEDOUT, the errors of engine.allocate(), or the reason of the
   * signal. Error ERR_CLOSED if the pool or the engine is closed, also while the call waits.
   */
  acquire(length: number = this.size, options: WaitOptions = {}): Promise<MemoryLease> {
    return cancellable(async () => {
      checkInteger('length', length, 1, this.size);
      const wait = checkWait(options);
      this.#checkOpen();
      const turn = this.#take();
      try {
        const memory = await within(turn.promise, wait, 'pool.acquire');
        this.#checkOpen();
        return this.#lease(memory, length);
      } catch (error) {
        this.#leave(turn);
        throw error;
      }
    });
  }

  #checkOpen(): void {
    if (this.#ended) throw asCancellation(closed(this.#ended));
  }

  #lease(memory: TransferMemory, length: number): MemoryLease {
    const lease = new MemoryLease(memory, length);
    this.#acquired += 1;
    this.#leases.add(lease);
    lease.released.then(() => {
      this.#leases.delete(lease);
      this.#give(memory);
    });
    return lease;
  }

  #take(): Deferred<TransferMemory> {
    const turn = new Deferred<TransferMemory>();
    const free = this.#free.pop();
    if (free) turn.resolve(free);
    else if (this.#buffers < this.count) this.#makeFor(turn);
    else {
      this.#waits += 1;
      this.#waiting.push(turn);
    }
    return turn;
  }

  async #makeFor(turn: Deferred<TransferMemory>): Promise<void> {
    this.#buffers += 1;
    try {
      turn.resolve(await this.#owner.allocate());
    } catch (error) {
      this.#dropped();
      turn.reject(error);
      const next = this.#waiting.shift();
      if (next) this.#makeFor(next); // otherwise nobody might give it a buffer
    }
  }

  // The call has ended without its buffer.
  #leave(turn: Deferred<TransferMemory>): void {
    const place = this.#waiting.indexOf(turn);
    if (place >= 0) this.#waiting.splice(place, 1);
    turn.promise.then(
      (memory) => this.#give(memory),
      () => {},
    );
  }

  #give(memory: TransferMemory): void {
    if (this.#ended) return void this.#drop(memory);
    const next = this.#waiting.shift();
    if (next) next.resolve(memory);
    else this.#free.push(memory);
  }

  async #drop(memory: TransferMemory): Promise<void> {
    await memory.close().catch(() => {});
    this.#dropped();
  }

  #dropped(): void {
    this.#buffers -= 1;
    if (this.#buffers === 0 && this.#ended) this.#empty.resolve();
  }

  /** The use of the pool since it was made. */
  stats(): MemoryPoolStats {
    return {
      buffers: this.#buffers,
      byteLength: this.#buffers * this.size,
      leased: this.#leases.size,
      waiting: this.#waiting.length,
      acquired: this.#acquired,
      waits: this.#waits,
    };
  }

  /** @internal For dumpState() and metrics. */
  state(): MemoryPoolState {
    const { name, size, count } = this;
    return { name, size, count, ...this.stats() };
  }

  /** Whether the pool or its engine was closed. */
  get closed(): boolean {
    return this.#ended !== undefined;
  }

  /** Releases all leases. Resolves when nothing uses their memory any more, and all memory is closed. */
  close(): Promise<void> {
    this.#closing ??= cancellable(() => this.end('the pool'));
    return this.#closing;
  }

  /** @internal @param what is closed. */
  async end(what: 'the pool' | 'the transfer engine'): Promise<void> {
    this.#ended ??= what;
    this.#owner.forget(this);
    for (const { promise, reject } of this.#waiting.splice(0)) {
      countAsHandled(promise);
      reject(asCancellation(closed(what)));
    }
    for (const lease of this.#leases) lease.release();
    for (const memory of this.#free.splice(0)) this.#drop(memory);
    if (this.#buffers > 0) await this.#empty.promise;
  }

  /** Closes the pool: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
