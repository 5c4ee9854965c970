import { setTimeout as sleep } from 'node:timers/promises';
import { FabricError } from '../../../base/errors.js';
import type { Domain } from '../../../domain.js';
import type { BatchBase, RoundOptions } from '../../../endpoint/batch.js';
import { PeerGone } from './oob.js';

/** The user pressed Ctrl-C, here or at the peer. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

// Milliseconds that a native call may block the event loop, and with it Ctrl-C.
const SLICE = 250;
// Milliseconds between turns of the event loop during an asynchronous wait. V8 soon compiles a loop
// that turns more often, and the compilation would continue into the timed part that follows the
// wait.
const SPAN = 1;
// Milliseconds of polling without a pause, and the pause between polls after that, where a wait may pause.
const POLL_TIME = 10;
const PAUSE = 1;
// Milliseconds to wait for messages that the peer sent before it ended.
const DRAIN_TIME = 500;

const isTimeout = (error: unknown) =>
  error instanceof FabricError && error.code === 'FI_ETIMEDOUT' && error.syscall === 'run';

/**
 * Waits for operations that depend on the peer, and drives the engine of a domain (driver 'manual')
 * and the event loop meanwhile. A wait ends when the peer is gone or does not answer in time.
 */
export class Waiter {
  /** Seconds without progress after which the peer counts as gone. */
  readonly timeout: number;
  readonly #domain: Domain;
  /** Returns the reason if a wait has become pointless. */
  readonly #trouble: () => Error | undefined;
  #batch: BatchBase | undefined;

  constructor(domain: Domain, timeout: number, trouble: () => Error | undefined) {
    this.#domain = domain;
    this.timeout = timeout;
    this.#trouble = trouble;
  }

  /** Lets the event loop turn. Throws if a wait has become pointless. */
  async yieldToEvents(): Promise<void> {
    await new Promise(setImmediate);
    const trouble = this.#trouble();
    if (trouble) throw trouble;
  }

  /**
   * Submits a batch and waits for it in one native call, for timed loops. If the call takes long it
   * throws, and finish() continues to wait.
   */
  run(batch: BatchBase): void {
    this.#batch = batch;
    batch.run(SLICE);
  }

  /**
   * Posts a batch repeatedly in one native call. If a round takes long, it waits for that round, at
   * most so many seconds. Returns the number of completed rounds.
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

  /** Handles an error of run(): continues to wait after a timeout, and rethrows any other error. */
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
   * Drives the engine until a promise is settled.
   *
   * @param seconds how long to wait.
   */
  until<T>(promise: Promise<T>, seconds = this.timeout): Promise<T> {
    return this.#until(promise, seconds, false);
  }

  /**
   * The same without keeping a core busy, for waits before the test, when no data moves: for the peer to
   * start, or to send its address.
   */
  untilWithPauses<T>(promise: Promise<T>, seconds = this.timeout): Promise<T> {
    return this.#until(promise, seconds, true);
  }

  async #until<T>(promise: Promise<T>, seconds: number, pauses: boolean): Promise<T> {
    let settled = false;
    const settle = () => {
      settled = true;
    };
    promise.then(settle, settle);
    const start = performance.now();
    let troubled: number | undefined;
    let span = 0;
    for (;;) {
      this.#domain.wait(1, span);
      span = SPAN;
      await new Promise(setImmediate);
      if (settled) return promise;
      const waited = performance.now() - start;
      const trouble = this.#trouble();
      if (trouble instanceof Interrupted) throw trouble;
      if (trouble) troubled ??= waited;
      if (waited - (troubled ?? waited) > DRAIN_TIME) throw trouble;
      if (waited > seconds * 1000) throw this.#gone();
      if (!pauses || waited < POLL_TIME) continue;
      await sleep(PAUSE);
      span = 0; // one poll between two pauses
    }
  }

  #gone(): Error {
    return new PeerGone(
      `the peer has not answered for ${this.timeout} s; check that it runs, with the same options`,
    );
  }
}
