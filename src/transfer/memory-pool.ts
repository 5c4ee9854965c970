import { asCancellation, cancellable, countAsHandled } from '../base/cancellation.js';
import { checkInteger, checkOptions, checkString, namesOf } from '../base/checks.js';
import { Deferred } from '../base/deferred.js';
import { uncloneable } from '../base/describe.js';
import { closed, FabricError, invalidArgValue } from '../base/errors.js';
import {
  checkWait,
  notCompletedAfter,
  type Wait,
  type WaitOptions,
  within,
} from '../base/wait-options.js';
import type { MemoryPoolState, MemoryPoolStats } from '../diagnostics/transfer-state.js';
import { errnoOf } from './errors.js';
import { MemoryLease } from './lease.js';
import type { TransferMemory } from './memory.js';
import type { AllocateMemoryOptions } from './registration.js';

const UNCLONEABLE = uncloneable('a MemoryPool belongs to its engine: make one on each engine');
const MAX_COUNT = 2 ** 20;
const CALL = 'pool.acquire';
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
  /** The most buffers. While all are in use, streams that receive have one more. */
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

/** A call that waits for a buffer. */
class Turn extends Deferred<TransferMemory> {
  /** Whether the buffer is for bytes that arrive from a peer. */
  readonly receives: boolean;

  constructor(receives: boolean) {
    super();
    this.receives = receives;
  }
}

const isTimeout = (error: unknown): boolean =>
  FabricError.is(error) && error.code === 'FI_ETIMEDOUT' && error.syscall === CALL;

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
 * A stream that sends holds its buffer until the peer has a buffer for the bytes. So there is always a buffer for a stream
 * that receives: if all are in use by others, one more.
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
  readonly #waiting: Turn[] = [];
  readonly #holders = new Set<() => void>(); // leases whose holders can release them early
  #sending = 0; // buffers that are not for receiving, also while they are allocated
  #receiving = 0;
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
      return this.#acquire(length, checkWait(options), new Turn(false));
    });
  }

  /** @internal The same for bytes that arrive from a peer. */
  acquireToReceive(length: number, wait: Wait): Promise<MemoryLease> {
    return cancellable(() => this.#acquire(length, wait, new Turn(true)));
  }

  /** @internal Calls once when a call waits for a buffer, now if one does. Returns what ends that. */
  whenWanted(call: () => void): () => void {
    if (this.#waiting.length > 0) call();
    else this.#holders.add(call);
    return () => this.#holders.delete(call);
  }

  async #acquire(length: number, wait: Wait, turn: Turn): Promise<MemoryLease> {
    this.#checkOpen();
    this.#take(turn);
    try {
      const memory = await within(turn.promise, wait, CALL);
      this.#checkOpen();
      return this.#lease(memory, length, turn);
    } catch (error) {
      this.#leave(turn);
      throw isTimeout(error) ? this.#exhausted(wait.timeout as number) : error;
    }
  }

  #exhausted(timeout: number): FabricError {
    const late = notCompletedAfter(timeout);
    const detail = `${late}: all ${this.count} buffers of the pool '${this.name}' are in use`;
    return new FabricError(errnoOf('FI_ETIMEDOUT'), CALL, { detail });
  }

  #checkOpen(): void {
    if (this.#ended) throw asCancellation(closed(this.#ended));
  }

  #lease(memory: TransferMemory, length: number, turn: Turn): MemoryLease {
    const lease = new MemoryLease(memory, length);
    this.#acquired += 1;
    this.#leases.add(lease);
    lease.released.then(() => {
      this.#leases.delete(lease);
      this.#give(memory, turn);
    });
    return lease;
  }

  #take(turn: Turn): void {
    const free = this.#free.pop();
    if (free) this.#pass(free, turn);
    else if (this.#buffers < this.count) this.#makeFor(turn);
    else this.#queue(turn);
  }

  #queue(turn: Turn): void {
    this.#waits += 1;
    this.#waiting.push(turn);
    this.#serveReceiver();
    const [holder] = this.#holders;
    if (holder === undefined || !this.#waiting.includes(turn)) return;
    this.#holders.delete(holder);
    holder();
  }

  #count(turn: Turn, change: 1 | -1): void {
    if (turn.receives) this.#receiving += change;
    else this.#sending += change;
  }

  #pass(memory: TransferMemory, turn: Turn): void {
    this.#count(turn, 1);
    turn.resolve(memory);
  }

  async #makeFor(turn: Turn): Promise<void> {
    this.#buffers += 1;
    this.#count(turn, 1);
    try {
      turn.resolve(await this.#owner.allocate());
    } catch (error) {
      this.#count(turn, -1);
      this.#dropped();
      turn.reject(error);
      const next = this.#next();
      if (next) this.#makeFor(next); // otherwise nobody might give it a buffer
    }
  }

  /** Takes the first call that may have a buffer. The buffer that is one more is for receivers only. */
  #next(): Turn | undefined {
    const at = this.#waiting.findIndex(({ receives }) => receives || this.#sending < this.count);
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  // If all buffers are in use by others, makes one more for the first receiver.
  #serveReceiver(): void {
    if (this.#receiving > 0 || this.#buffers > this.count || this.#ended) return;
    const at = this.#waiting.findIndex(({ receives }) => receives);
    const [turn] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (turn) this.#makeFor(turn);
  }

  // The call has ended without its buffer.
  #leave(turn: Turn): void {
    const place = this.#waiting.indexOf(turn);
    if (place >= 0) this.#waiting.splice(place, 1);
    turn.promise.then(
      (memory) => this.#give(memory, turn),
      () => {},
    );
  }

  #give(memory: TransferMemory, from: Turn): void {
    this.#count(from, -1);
    if (this.#ended) return void this.#drop(memory);
    const next = this.#next();
    if (next) this.#pass(memory, next);
    else if (this.#buffers > this.count) this.#drop(memory);
    else this.#free.push(memory);
    this.#serveReceiver();
  }

  async #drop(memory: TransferMemory): Promise<void> {
    await memory.close().catch(() => {});
    this.#dropped();
  }

  #dropped(): void {
    this.#buffers -= 1;
    if (this.#buffers === 0 && this.#ended) this.#empty.resolve();
    this.#serveReceiver();
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
