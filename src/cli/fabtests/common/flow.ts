import type { BatchBase } from '../../../endpoint/batch.js';
import type { Nic } from './nics.js';

/** The parameters of a flow. */
export interface FlowOptions {
  /** The batch that it submits repeatedly. */
  readonly batch: BatchBase;
  /** Submissions in flight at once. */
  readonly depth: number;
  /** Submissions in all; if undefined, the flow runs until its time is over. */
  readonly total?: number;
}

/**
 * A batch that is kept in flight: several submissions at once, so that the device never waits for
 * the next.
 */
export class Flow {
  readonly batch: BatchBase;
  readonly #depth: number;
  readonly #total: number;
  #submitted = 0;
  #completed = 0;
  #last = 0;
  #failure: unknown;

  constructor({ batch, depth, total = Number.POSITIVE_INFINITY }: FlowOptions) {
    this.batch = batch;
    this.#depth = depth;
    this.#total = total;
  }

  /** The number of completed submissions. */
  get completed(): number {
    return this.#completed;
  }

  /** The time of the last completion: performance.now(). */
  get last(): number {
    return this.#last;
  }

  get busy(): boolean {
    return this.batch.inFlight > 0;
  }

  /** Submits until `depth` submissions are in flight. Calls `settled` when a submission settles. */
  fill(settled: () => void): void {
    const failed = (error: unknown) => {
      this.#failure ??= error;
      settled();
    };
    while (this.#submitted < this.#total && this.batch.inFlight < this.#depth) {
      this.#submitted++;
      this.batch.submit().then(settled, failed);
    }
  }

  /** Counts completed submissions. Returns whether there were new ones. */
  count(now: number): boolean {
    const completed = this.#submitted - this.batch.inFlight;
    if (completed === this.#completed) return false;
    this.#completed = completed;
    this.#last = now;
    return true;
  }

  /**
   * Throws the error of a failed submission. The error is known after the event loop has turned.
   */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** How long flows run. */
export interface PumpOptions {
  /** Milliseconds after which nothing more is submitted. */
  readonly time?: number;
  /** Milliseconds without any completion after which pump() throws. */
  readonly timeout: number;
  /** Lets the event loop turn. Throws if the measurement has to end. */
  readonly yieldToEvents: () => Promise<void>;
}

// Milliseconds between turns of the event loop.
const YIELD_INTERVAL = 50;

/** No operation has completed within the timeout. */
export class Stalled extends Error {
  override readonly name = 'Stalled';
  /** Indexes of the flows that wait. */
  readonly flows: readonly number[];

  constructor(milliseconds: number, flows: readonly number[]) {
    super(`nothing has completed for ${milliseconds / 1000} s`);
    this.flows = flows;
  }
}

/** Drives flows until all have finished. Returns the start time. */
export async function pump(
  nics: readonly Nic[],
  flows: readonly Flow[],
  { time = Number.POSITIVE_INFINITY, timeout, yieldToEvents }: PumpOptions,
): Promise<number> {
  const [{ domain }] = nics as [Nic];
  const wakeUp = domain.driver === 'manual' ? undefined : new WakeUp();
  const settled = wakeUp ? wakeUp.wake : () => {};
  const start = performance.now();
  const end = start + time;
  let nextYield = start + YIELD_INTERVAL;
  let lastCompletion = start;
  for (const flow of flows) flow.fill(settled);
  try {
    for (;;) {
      if (wakeUp) await wakeUp.wait();
      else domain.wait(1, YIELD_INTERVAL);
      const now = performance.now();
      let busy = false;
      for (const flow of flows) {
        if (flow.count(now)) {
          lastCompletion = now;
          if (now < end) flow.fill(settled);
        }
        busy ||= flow.busy;
      }
      if (busy && now < nextYield) continue;
      await yieldToEvents();
      for (const flow of flows) flow.check();
      if (!busy) return start;
      if (now - lastCompletion > timeout) throw new Stalled(timeout, indicesOf(flows));
      nextYield = performance.now() + YIELD_INTERVAL;
    }
  } finally {
    wakeUp?.stop();
  }
}

const indicesOf = (flows: readonly Flow[]) => flows.flatMap((flow, i) => (flow.busy ? [i] : []));

/** Wakes up when an operation completes on another thread, and every YIELD_INTERVAL. */
class WakeUp {
  readonly #timer = setInterval(() => this.wake(), YIELD_INTERVAL);
  #signalled = false;
  #wake: (() => void) | undefined;

  readonly wake = (): void => {
    this.#signalled = true;
    this.#wake?.();
  };

  async wait(): Promise<void> {
    if (!this.#signalled) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#signalled = false;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
