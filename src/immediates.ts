import { Arrivals } from './endpoint/arrivals.js';
import { type StreamOptions, tooLate } from './endpoint/stream.js';
import type { Engine } from './engine/engine.js';
import { Kind } from './engine/requests.js';
import { errnoByCode } from './error-codes.js';
import { FabricError } from './errors.js';
import type { Wait } from './wait-options.js';

/** The arrival of a remote write with data. */
export interface Immediate {
  /** What the writer sent with it. */
  readonly data: bigint;
  /** Bytes, where the provider tells; else 0. */
  readonly length: number;
}

/** How a stream of arrivals is waited for. */
export interface ImmediatesOptions extends StreamOptions {
  /** Arrivals that may wait to be taken, 65,536 when left out: FI_EOVERRUN where there are more. */
  readonly limit?: number;
}

/**
 * Arrivals of remote writes with data, as an async iterator: `completionQueue.immediates()`. A
 * rejection of next() ends it. Where more arrivals come than may wait, next() tells of those and then
 * rejects with FI_EOVERRUN; the others are counted for `arrived()` and the next such stream.
 */
export class Immediates implements AsyncIterableIterator<Immediate> {
  readonly #engine: Engine;
  readonly #onEnd: (left: Immediate[]) => void;
  readonly #limit: number;
  #full = false;
  readonly #arrivals: Arrivals<Immediate>;
  #request: number | undefined;
  #done = false;

  /** @internal */
  constructor(engine: Engine, wait: Wait, limit: number, onEnd: (left: Immediate[]) => void) {
    this.#engine = engine;
    this.#limit = limit;
    this.#onEnd = onEnd;
    this.#arrivals = new Arrivals(wait, tooLate, () => this.finish());
  }

  /** @internal Whether there was room for it. */
  push(immediate: Immediate): boolean {
    if (this.#full) return false;
    if (this.#arrivals.waiting < this.#limit) {
      this.#arrivals.push(immediate);
      return true;
    }
    const detail = `more than ${this.#limit} arrivals waited; the others are counted`;
    this.overrun(new FabricError(errnoByCode.FI_EOVERRUN, 'fi_cq_read', { detail }));
    return false;
  }

  /** @internal Nothing comes any more, for this reason. */
  overrun(error: FabricError): void {
    if (this.#full) return;
    this.#full = true;
    this.#arrivals.fail(error);
  }

  /** Takes an arrival that has been delivered already, without waiting for one. */
  take(): Immediate | undefined {
    return this.#arrivals.takeNow();
  }

  /** The next arrival. */
  next(): Promise<IteratorResult<Immediate>> {
    const taken = this.#arrivals.take();
    if (this.#arrivals.awaited === 0) return taken;
    // Someone who waits keeps the event loop alive, as any other request does.
    this.#request ??= this.#engine.begin(Kind.Void, this);
    return taken.finally(() => this.#letLoopGo());
  }

  /** Ends the iteration; arrivals that it has not told of count for `arrived()` again. */
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

  #letLoopGo(): void {
    if (this.#request === undefined || this.#arrivals.awaited > 0) return;
    this.#engine.abandon(this.#request);
    this.#request = undefined;
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the iteration: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    this.finish();
    return Promise.resolve();
  }
}
