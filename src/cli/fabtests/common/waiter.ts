import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchBase, RoundOptions } from '../../../batch.js';
import type { Domain } from '../../../domain.js';
import { FabricError } from '../../../errors.js';
import { PeerGone } from './oob.js';

/** The user has pressed Ctrl-C, here or at the other side. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

// Milliseconds that a native call may keep the event loop, and with it Ctrl-C, waiting.
const SLICE = 250;
// Milliseconds between looks at the event loop by who waits asynchronously. A loop that turns more
// often is soon compiled, and that goes on when what it has waited for is timed.
const SPAN = 1;
// How long to poll without a pause for something that does not come, and the pause then.
const POLL_TIME = 1000;
const PAUSE = 1;
// What the other side has sent before it ended may still be on its way, in milliseconds.
const DRAIN_TIME = 500;

const isTimeout = (error: unknown) =>
  error instanceof FabricError && error.code === 'FI_ETIMEDOUT' && error.syscall === 'run';

/**
 * Waits for things that the other side has a part in, while the engine of a domain (driver 'manual')
 * and the event loop both turn: not longer than it makes sense.
 */
export class Waiter {
  /** Seconds without progress after which the other side counts as gone. */
  readonly timeout: number;
  readonly #domain: Domain;
  /** Says why waiting is pointless, once it is. */
  readonly #trouble: () => Error | undefined;
  #batch: BatchBase | undefined;

  constructor(domain: Domain, timeout: number, trouble: () => Error | undefined) {
    this.#domain = domain;
    this.timeout = timeout;
    this.#trouble = trouble;
  }

  /** Lets the event loop turn; throws when there is no point in going on. */
  async yieldToEvents(): Promise<void> {
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

  /**
   * Posts a batch again and again, in one native call, until a round takes long: then it waits for
   * that, at most so many seconds. Returns the rounds that were completed.
   */
  async rounds(batch: BatchBase, options: RoundOptions, seconds?: number): Promise<number> {
    this.#batch = batch;
    try {
      return batch.run({ ...options, timeout: SLICE });
    } catch (error) {
      const completed = batch.rounds;
      await this.finish(error, seconds);
      return completed + 1;
    }
  }

  /** After an error of run(): rethrows it, or waits longer for the batch where its time was over. */
  async finish(error: unknown, seconds = this.timeout): Promise<void> {
    const batch = this.#batch;
    if (!isTimeout(error) || batch === undefined) throw error;
    const deadline = performance.now() + seconds * 1000;
    for (;;) {
      await this.yieldToEvents();
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
   * @param seconds how long to wait.
   */
  until<T>(promise: Promise<T>, seconds = this.timeout): Promise<T> {
    return this.#until(promise, seconds, false);
  }

  /** The same for what may come in an hour: without a limit, and without keeping a core busy. */
  untilWithoutLimit<T>(promise: Promise<T>): Promise<T> {
    return this.#until(promise, Number.POSITIVE_INFINITY, true);
  }

  async #until<T>(promise: Promise<T>, seconds: number, pauses: boolean): Promise<T> {
    let settled = false;
    const settle = () => {
      settled = true;
    };
    promise.then(settle, settle);
    const start = performance.now();
    let troubled: number | undefined;
    for (let span = 0; ; span = SPAN) {
      this.#domain.wait(1, span);
      await new Promise(setImmediate);
      if (settled) return promise;
      const waited = performance.now() - start;
      const trouble = this.#trouble();
      if (trouble instanceof Interrupted) throw trouble;
      if (trouble) troubled ??= waited;
      if (waited - (troubled ?? waited) > DRAIN_TIME) throw trouble;
      if (waited > seconds * 1000) throw this.#gone();
      if (pauses && waited > POLL_TIME) await sleep(PAUSE);
    }
  }

  #gone(): Error {
    return new PeerGone(
      `the other side has not answered for ${this.timeout} s; is it there, with the same options?`,
    );
  }
}
