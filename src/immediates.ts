import { Arrivals } from './endpoint/arrivals.js';
import { overdue } from './engine/deadlines.js';
import type { Engine } from './engine/engine.js';
import { errorOf } from './engine/failure.js';
import { Kind } from './engine/requests.js';
import type { Wait } from './wait-options.js';

/** The arrival of a remote write with data. */
export interface Immediate {
  /** What the writer sent with it. */
  readonly data: bigint;
  /** Bytes, where the provider tells; else 0. */
  readonly length: number;
}

const tooLate = (milliseconds: number) => errorOf(overdue('fi_cq_read', milliseconds));

/** Arrivals of remote writes with data, as an async iterator: `completionQueue.immediates()`. */
export class Immediates implements AsyncIterableIterator<Immediate> {
  readonly #engine: Engine;
  readonly #onEnd: () => void;
  readonly #arrivals: Arrivals<Immediate>;
  #request: number | undefined;
  #done = false;

  /** @internal */
  constructor(engine: Engine, wait: Wait, onEnd: () => void) {
    this.#engine = engine;
    this.#onEnd = onEnd;
    this.#arrivals = new Arrivals(wait, tooLate, () => this.finish());
  }

  /** @internal */
  push(immediate: Immediate): void {
    this.#arrivals.push(immediate);
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

  /** Ends the iteration; arrivals to come count for `arrived()` again. */
  return(): Promise<IteratorResult<Immediate>> {
    this.finish();
    return Promise.resolve({ value: undefined, done: true });
  }

  /** @internal */
  finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#onEnd();
    this.#arrivals.end();
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
