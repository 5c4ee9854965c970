import type { RoundOptions } from '../../../endpoint/batch.js';
import type { MatrixNic } from '../../shared/result.js';
import type { Waiter } from './waiter.js';

/** Work that consists of repeated steps. */
export interface Work {
  /** Steps in all, including the warm-up: iterations, or windows of them. */
  readonly steps: number;
  /** The step at which the clock starts. */
  readonly clockAt: number;
  /** Iterations in a step. Default: 1. */
  readonly weight?: (index: number) => number;
  /** The steps from `index` on that are rounds of one batch. They run natively. */
  readonly rounds?: ((index: number) => Rounds) | undefined;
  /** Runs one step, if steps are not rounds. */
  readonly step?: ((index: number) => Promise<void>) | undefined;
  /** Verifies the data that a step received. Throws if it is wrong. */
  readonly verify?: ((index: number) => void) | undefined;
  /** Runs the first step, if it differs from the others. */
  readonly first?: (() => Promise<void>) | undefined;
  /** Runs after all steps, within the measured time. */
  readonly last?: (() => Promise<void>) | undefined;
}

/** Identical steps. */
export interface Rounds {
  /** How many there are. */
  readonly count: number;
  /** Runs some of them and returns how many. */
  readonly run: (options: RoundOptions) => Promise<number>;
}

/** Rounds without a limit to their number. */
export function unlimited(run: Rounds['run']): Rounds {
  return { count: Number.MAX_SAFE_INTEGER, run };
}

/** All steps, if they are rounds of one batch. */
export function allAlike(run: Rounds['run']): () => Rounds {
  const rounds = unlimited(run);
  return () => rounds;
}

/** How long work took. */
export interface Timing {
  /** Iterations within the measured time. */
  readonly iterations: number;
  readonly seconds: number;
  /** Milliseconds per iteration, of single steps; empty unless asked for. */
  readonly samples: Float64Array;
  /** Successive parts of the measured time; empty unless asked for. */
  readonly slices: readonly Slice[];
  /** Cores that this process used. */
  readonly cpu: number;
  /** The bandwidth of each NIC, if there are several. */
  readonly nics?: readonly MatrixNic[];
  /** Why the work ended early. */
  readonly error?: unknown;
}

export interface Slice {
  readonly iterations: number;
  readonly milliseconds: number;
}

const SLICES = 20;
// Milliseconds between turns of the event loop, which handles Ctrl-C and messages of the peer.
const YIELD_INTERVAL = 100;
const FIRST_CHUNK = 16;
// Two clock reads take about 0.1 us. They may add 1 %.
const CLOCK = 1e-4;
const SHARE = 0.01;
const MOST_SAMPLES = 2 ** 20;

/** Runs work and measures it. */
export async function measure(waiter: Waiter, work: Work, statistics: boolean): Promise<Timing> {
  const run = new Run(waiter, work);
  const { clockAt, steps } = work;
  const before = performance.now();
  await run.until(clockAt);
  if (statistics) run.sample((performance.now() - before) / clockAt);
  const slices: Slice[] = [];
  const count = statistics ? Math.min(SLICES, steps - clockAt) : 1;
  let error: unknown;
  const usage = new Usage();
  const start = performance.now();
  try {
    for (let slice = 1, since = start; slice <= count; slice++) {
      const from = run.done;
      await run.until(clockAt + Math.floor(((steps - clockAt) * slice) / count));
      const now = performance.now();
      slices.push({ iterations: run.iterations(from), milliseconds: now - since });
      since = now;
    }
    await work.last?.();
  } catch (thrown) {
    error = thrown;
  }
  const milliseconds = performance.now() - start;
  const cpu = usage.cores;
  return {
    iterations: run.iterations(clockAt),
    seconds: milliseconds / 1000,
    samples: run.samples.subarray(0, run.sampled),
    slices: statistics ? slices : [],
    cpu,
    ...(error !== undefined && { error }),
  };
}

/** The CPU use of this process since construction. */
export class Usage {
  readonly #usage = process.cpuUsage();
  readonly #start = performance.now();

  /** Average number of busy cores: 1 is one core busy all the time. */
  get cores(): number {
    const { user, system } = process.cpuUsage(this.#usage);
    return (user + system) / 1000 / (performance.now() - this.#start);
  }
}

class Run {
  /** Completed steps. */
  done = 0;
  samples = new Float64Array(0);
  sampled = 0;
  readonly #waiter: Waiter;
  readonly #work: Work;
  #chunk = FIRST_CHUNK;
  #every = 0;
  #nextSample = -1;
  #yieldedAt = performance.now();

  constructor(waiter: Waiter, work: Work) {
    this.#waiter = waiter;
    this.#work = work;
  }

  /** Iterations in the completed steps from `from` on. */
  iterations(from: number): number {
    const { weight } = this.#work;
    if (weight === undefined) return Math.max(0, this.done - from);
    let sum = 0;
    for (let index = from; index < this.done; index++) sum += weight(index);
    return sum;
  }

  /**
   * Starts to time steps: as many as possible while the clock reads stay cheap. A step takes
   * `milliseconds`.
   */
  sample(milliseconds: number): void {
    const left = this.#work.steps - this.done;
    const cheap = Math.ceil(CLOCK / SHARE / (milliseconds || CLOCK));
    this.#every = Math.max(1, cheap, Math.ceil(left / MOST_SAMPLES));
    this.#nextSample = this.done;
    this.samples = new Float64Array(Math.ceil(left / this.#every));
  }

  /** Runs the steps before `end`. */
  async until(end: number): Promise<void> {
    const { first, verify, step, rounds } = this.#work;
    if (this.done === 0 && end > 0 && first) {
      await first();
      verify?.(0);
      this.done = 1;
    }
    if (rounds) return this.#natively(end, rounds);
    if (!step) throw new Error('work has steps or rounds');
    while (this.done < end) {
      const start = performance.now();
      await this.#steps(Math.min(end, this.done + this.#chunk), step);
      const took = performance.now() - start;
      if (took < YIELD_INTERVAL / 2) {
        this.#chunk *= 2;
      } else {
        this.#chunk = Math.max(1, Math.round((this.#chunk * YIELD_INTERVAL) / took));
        await this.#waiter.yieldToEvents();
      }
    }
  }

  async #natively(end: number, rounds: (index: number) => Rounds): Promise<void> {
    const { verify } = this.#work;
    while (this.done < end) {
      const { count, run } = rounds(this.done);
      const room = this.samples.subarray(this.sampled);
      const times = verify ? 1 : Math.min(count, end - this.done);
      const sampling = room.length > 0 && { samples: room, every: this.#every };
      const done = await run({ times, duration: YIELD_INTERVAL, ...sampling });
      if (sampling) this.#took(room.subarray(0, Math.ceil(done / this.#every)));
      verify?.(this.done);
      this.done += done;
      if (performance.now() - this.#yieldedAt < YIELD_INTERVAL) continue;
      await this.#waiter.yieldToEvents();
      this.#yieldedAt = performance.now();
    }
  }

  /** Converts milliseconds per step into milliseconds per iteration. */
  #took(samples: Float64Array): void {
    const weight = this.#work.weight?.(this.done) ?? 1;
    if (weight === 0) return;
    for (let i = 0; i < samples.length; i++) samples[i] = (samples[i] as number) / weight;
    this.sampled += samples.length;
  }

  async #steps(end: number, step: (index: number) => Promise<void>): Promise<void> {
    for (; this.done < end; this.done++) {
      const start = performance.now();
      await step(this.done);
      if (this.done === this.#nextSample) this.#sampledSince(start);
      this.#work.verify?.(this.done);
    }
  }

  #sampledSince(start: number): void {
    const weight = this.#work.weight?.(this.done) ?? 1;
    if (weight > 0) this.samples[this.sampled++] = (performance.now() - start) / weight;
    this.#nextSample += this.#every;
  }
}
