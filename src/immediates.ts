import type { Engine } from './engine/engine.js';
import { Kind } from './engine/requests.js';

/** The arrival of a remote write with data. */
export interface Immediate {
  /** What the writer sent with it. */
  readonly data: bigint;
  /** Bytes, where the provider tells; else 0. */
  readonly length: number;
}

/** Arrivals of remote writes with data, as an async iterator: `completionQueue.immediates()`. */
export class Immediates implements AsyncIterableIterator<Immediate> {
  readonly #engine: Engine;
  readonly #onEnd: () => void;
  #arrived: Immediate[] = [];
  #waiting: ((result: IteratorResult<Immediate>) => void)[] = [];
  #request: number | undefined;
  #done = false;

  /** @internal */
  constructor(engine: Engine, onEnd: () => void) {
    this.#engine = engine;
    this.#onEnd = onEnd;
  }

  /** @internal */
  push(immediate: Immediate): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#arrived.push(immediate);
    else waiting({ value: immediate, done: false });
    if (this.#waiting.length === 0) this.#letLoopGo();
  }

  /** Takes an arrival that has been delivered already, without waiting for one. */
  take(): Immediate | undefined {
    return this.#arrived.shift();
  }

  /** The next arrival. */
  next(): Promise<IteratorResult<Immediate>> {
    const immediate = this.#arrived.shift();
    if (immediate !== undefined) return Promise.resolve({ value: immediate, done: false });
    if (this.#done) return Promise.resolve({ value: undefined, done: true });
    // Someone who waits keeps the event loop alive, as any other request does.
    this.#request ??= this.#engine.begin(Kind.Void, this);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
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
    for (const resolve of this.#waiting.splice(0)) resolve({ value: undefined, done: true });
    this.#letLoopGo();
  }

  #letLoopGo(): void {
    if (this.#request === undefined) return;
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
