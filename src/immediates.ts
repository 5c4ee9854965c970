import { Arrivals } from './base/arrivals.js';
import { uncloneable } from './base/describe.js';
import { errnoByCode } from './base/error-codes.js';
import { FabricError } from './base/errors.js';
import type { Peer } from './base/peer.js';
import type { Wait } from './base/wait-options.js';
import type { Engine } from './engine/engine.js';
import { Kind } from './engine/requests.js';
import { type StreamOptions, timeoutError } from './engine/stream.js';

const UNCLONEABLE = uncloneable(
  'a stream of immediates belongs to its completion queue: send each { data, length }',
);

/** A remote write with data that has arrived. */
export interface Immediate {
  /** The writer's data. */
  readonly data: bigint;
  /** The length in bytes, or 0 if the provider does not report it. */
  readonly length: number;
  /**
   * The writer. Undefined without FI_SOURCE, if the provider does not report it, if the writer is
   * not in the address vector, if endpoints with several vectors share the queue, or if the write
   * arrived before the stream was open.
   */
  readonly source: Peer | undefined;
}

/** The wait options of a stream of arrivals. */
export interface ImmediatesOptions extends StreamOptions {
  /**
   * The most arrivals that may be untaken. If omitted, 65,536. If more arrive, next() rejects with
   * FI_EOVERRUN.
   */
  readonly limit?: number;
}

/**
 * Arrivals of remote writes with data, as an async iterator: `completionQueue.immediates()`. A
 * rejection of next() ends it. If more than `limit` arrivals are untaken, next() returns those
 * first and then rejects with FI_EOVERRUN. The excess arrivals count for `arrived()` and the next
 * stream.
 */
export class Immediates implements AsyncIterableIterator<Immediate> {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly #engine: Engine;
  readonly #onEnd: (untaken: Immediate[]) => void;
  readonly #limit: number;
  #full = false;
  readonly #arrivals: Arrivals<Immediate>;
  // Pending calls of next(), and the one request that represents them.
  #pending = 0;
  #request: number | undefined;
  #done = false;

  /** @internal */
  constructor(engine: Engine, wait: Wait, limit: number, onEnd: (untaken: Immediate[]) => void) {
    this.#engine = engine;
    this.#limit = limit;
    this.#onEnd = onEnd;
    const failed = () => this.finish();
    const waits = (change: number) => this.#waits(change);
    this.#arrivals = new Arrivals({ overdue: timeoutError, failed, waits }, wait);
  }

  /** @internal */
  get ended(): boolean {
    return this.#done;
  }

  /** @internal Adds an arrival. Returns false if the stream is full. */
  push(immediate: Immediate): boolean {
    if (this.#full) return false;
    if (this.#arrivals.waiting < this.#limit) {
      this.#arrivals.push(immediate);
      return true;
    }
    const detail = `more than ${this.#limit} arrivals were not taken; the others are counted`;
    this.overrun(new FabricError(errnoByCode.FI_EOVERRUN, 'fi_cq_read', { detail }));
    return false;
  }

  /** @internal Ends the stream with this error. */
  overrun(error: FabricError): void {
    if (this.#full) return;
    this.#full = true;
    this.#arrivals.fail(error);
  }

  /** Returns an arrival that was already delivered, without waiting. */
  take(): Immediate | undefined {
    return this.#arrivals.takeNow();
  }

  /**
   * The next arrival.
   *
   * @throws FabricError FI_EOVERRUN if more than `options.limit` arrivals are untaken, FI_ETIMEDOUT
   * after `options.timeout`.
   * @throws AbortError, or the reason of `options.signal`.
   */
  next(): Promise<IteratorResult<Immediate>> {
    return this.#arrivals.take();
  }

  /** Ends the iteration. Untaken arrivals count for `arrived()` again. */
  return(): Promise<IteratorResult<Immediate>> {
    this.finish();
    return Promise.resolve({ value: undefined, done: true });
  }

  /** @internal */
  finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#onEnd(this.#arrivals.stop().values);
  }

  // A pending next() keeps the event loop alive, as any other request does.
  #waits(change: number): void {
    this.#pending += change;
    if (this.#pending > 0) {
      this.#request ??= this.#engine.begin(Kind.Void, this);
    } else if (this.#request !== undefined) {
      this.#engine.abandon(this.#request);
      this.#request = undefined;
    }
  }

  /** Returns the stream itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the iteration: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    this.finish();
    return Promise.resolve();
  }
}
