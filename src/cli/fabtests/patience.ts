import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchBase } from '../../batch.js';
import type { Domain } from '../../domain.js';
import { FabricError } from '../../errors.js';
import { PeerGone } from './oob.js';

/** The user has pressed Ctrl-C, here or at the other side. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

// Milliseconds that a native call may keep the event loop, and with it Ctrl-C, waiting.
const SLICE = 250;
// How long to poll without a pause for something that does not come, and the pause then.
const EAGER = 1000;
const PAUSE = 1;

const isTimeout = (error: unknown) =>
  error instanceof FabricError && error.code === 'FI_ETIMEDOUT' && error.syscall === 'run';

/**
 * Waits for things that the other side has a part in, while the engine of a domain (driver 'manual')
 * and the event loop both turn: not longer than it makes sense.
 */
export class Patience {
  /** Seconds without progress after which the other side counts as gone. */
  readonly timeout: number;
  /** Says why waiting is pointless, once it is. */
  readonly #trouble: () => Error | undefined;
  #batch: BatchBase | undefined;

  constructor(timeout: number, trouble: () => Error | undefined) {
    this.timeout = timeout;
    this.#trouble = trouble;
  }

  /** Lets the event loop turn; throws when there is no point in going on. */
  async breathe(): Promise<void> {
    await new Promise(setImmediate);
    const trouble = this.#trouble();
    if (trouble) throw trouble;
  }

  /**
   * Submits a batch and waits for it, in one native call: for loops that are timed. Where the call
   * takes long it throws, and finish() goes on.
   */
  run(batch: BatchBase): void {
    this.#batch = batch;
    batch.run(SLICE);
  }

  /** After an error of run(): rethrows it, or waits for the batch where it only took long. */
  async finish(error: unknown): Promise<void> {
    const batch = this.#batch;
    if (!isTimeout(error) || batch === undefined) throw error;
    const deadline = performance.now() + this.timeout * 1000;
    for (;;) {
      await this.breathe();
      try {
        batch.resume(SLICE);
        return;
      } catch (again) {
        if (!isTimeout(again)) throw again;
        if (performance.now() >= deadline) throw this.#gone();
      }
    }
  }

  /** Submits a batch and waits for it. */
  async complete(batch: BatchBase): Promise<void> {
    try {
      this.run(batch);
    } catch (error) {
      await this.finish(error);
    }
  }

  /**
   * Turns the engine until a promise is settled.
   *
   * @param seconds how long to wait; Infinity for what may never come.
   */
  async until<T>(domain: Domain, promise: Promise<T>, seconds = this.timeout): Promise<T> {
    let settled = false;
    const settle = () => {
      settled = true;
    };
    promise.then(settle, settle);
    const start = performance.now();
    for (;;) {
      for (let turn = 0; turn < 64; turn++) domain.progress();
      await this.breathe();
      if (settled) return promise;
      const waited = performance.now() - start;
      if (waited > seconds * 1000) throw this.#gone();
      if (waited > EAGER) await sleep(PAUSE);
    }
  }

  #gone(): Error {
    return new PeerGone(
      `the other side has not answered for ${this.timeout} s; is it there, with the same options?`,
    );
  }
}
