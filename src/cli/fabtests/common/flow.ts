import type { BatchBase } from '../../../batch.js';
import type { Nic } from './nics.js';

/** What a flow is made of. */
export interface FlowOptions {
  /** What it does, over and over. */
  readonly batch: BatchBase;
  /** How often its batch is in flight at once. */
  readonly depth: number;
  /** How often in all; without it as long as there is time. */
  readonly total?: number;
}

/** A batch that is kept in flight: some submissions at once, so that the next is there in time. */
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

  /** How often the batch has completed. */
  get completed(): number {
    return this.#completed;
  }

  /** When it has completed last: performance.now(). */
  get last(): number {
    return this.#last;
  }

  get busy(): boolean {
    return this.batch.inFlight > 0;
  }

  /** Submits as much as there is room for. `settled` is told when a submission has completed. */
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

  /** Counts what has completed. Returns whether there was anything. */
  count(now: number): boolean {
    const completed = this.#submitted - this.batch.inFlight;
    if (completed === this.#completed) return false;
    this.#completed = completed;
    this.#last = now;
    return true;
  }

  /** Throws what a submission has failed with: known after the event loop has turned. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** How long flows go on. */
export interface PumpOptions {
  /** Milliseconds until no more is submitted. */
  readonly time?: number;
  /** Milliseconds without any completion after which to give up. */
  readonly timeout: number;
  /** Lets the event loop turn; throws when there is no point in going on. */
  readonly yieldToEvents: () => Promise<void>;
}

// Milliseconds between turns of the event loop.
const YIELD_INTERVAL = 50;

/** Nothing has completed for too long. */
export class Stalled extends Error {
  override readonly name = 'Stalled';
  /** Those that wait, by their index. */
  readonly flows: readonly number[];

  constructor(milliseconds: number, flows: readonly number[]) {
    super(`nothing has completed for ${milliseconds / 1000} s`);
    this.flows = flows;
  }
}

/** Keeps flows going until all have done what they should. Returns when it began. */
export async function pump(
  nics: readonly Nic[],
  flows: readonly Flow[],
  { time = Number.POSITIVE_INFINITY, timeout, yieldToEvents }: PumpOptions,
): Promise<number> {
  const [{ domain }] = nics as [Nic];
  const bell = domain.driver === 'manual' ? undefined : new WakeUp();
  const settled = bell ? bell.wake : () => {};
  const start = performance.now();
  const end = start + time;
  let nextYield = start + YIELD_INTERVAL;
  let news = start;
  for (const flow of flows) flow.fill(settled);
  try {
    for (;;) {
      if (bell) await bell.wait();
      else domain.wait(1, YIELD_INTERVAL);
      const now = performance.now();
      let busy = false;
      for (const flow of flows) {
        if (flow.count(now)) {
          news = now;
          if (now < end) flow.fill(settled);
        }
        busy ||= flow.busy;
      }
      if (busy && now < nextYield) continue;
      await yieldToEvents();
      for (const flow of flows) flow.check();
      if (!busy) return start;
      if (now - news > timeout) throw new Stalled(timeout, indicesOf(flows));
      nextYield = performance.now() + YIELD_INTERVAL;
    }
  } finally {
    bell?.stop();
  }
}

const indicesOf = (flows: readonly Flow[]) => flows.flatMap((flow, i) => (flow.busy ? [i] : []));

/** Rings when something has completed by the work of other threads, and now and then by itself. */
class WakeUp {
  readonly #timer = setInterval(() => this.wake(), YIELD_INTERVAL);
  #rings = false;
  #wake: (() => void) | undefined;

  readonly wake = (): void => {
    this.#rings = true;
    this.#wake?.();
  };

  async wait(): Promise<void> {
    if (!this.#rings) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#rings = false;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
