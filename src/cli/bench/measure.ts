import type { Patience } from '../fabtests/patience.js';

/** What is done again and again. */
export interface Work {
  /** Steps in all, the warm-up's included: iterations, or windows of them. */
  readonly steps: number;
  /** The step at which the clock starts. */
  readonly clockAt: number;
  /** One step, which ends with Patience.run() or throws what that throws. */
  readonly step: (index: number) => void;
  /** Looks at what a step has brought: throws where the data is wrong. */
  readonly check?: ((index: number) => void) | undefined;
  /** The first step, where that is another. */
  readonly first?: (() => Promise<void>) | undefined;
  /** What both sides do when all steps are done, within the measured time. */
  readonly last?: (() => Promise<void>) | undefined;
}

/** How long work has taken. */
export interface Timing {
  /** Steps within the measured time. */
  readonly steps: number;
  readonly seconds: number;
  /** Milliseconds of single steps, every `every`-th; empty unless asked for. */
  readonly samples: Float64Array;
  /** Milliseconds after the start when equal slices of the steps were done; may be empty. */
  readonly sliceEnds: readonly number[];
  /** Cores that this process has used. */
  readonly cpu: number;
  /** Why it ended early. */
  readonly error?: unknown;
}

const SLICES = 20;
// How often the event loop turns, for Ctrl-C and for news of the other side, in milliseconds.
const BREATH = 100;
const FIRST_CHUNK = 16;
// Two readings of the clock take about 0.1 us; they may add 1 %.
const CLOCK = 1e-4;
const SHARE = 0.01;

/** Does work and measures it. */
export async function measure(
  patience: Patience,
  work: Work,
  statistics: boolean,
): Promise<Timing> {
  const run = new Run(patience, work);
  let warmedUp = 0;
  if (work.clockAt > 0) {
    const start = performance.now();
    await run.until(work.clockAt);
    warmedUp = (performance.now() - start) / work.clockAt;
  }
  const timed = work.steps - work.clockAt;
  if (statistics) run.sample(timed, Math.max(1, Math.ceil(CLOCK / SHARE / (warmedUp || CLOCK))));
  const sliceEnds: number[] = [];
  const slices = statistics ? Math.min(SLICES, timed) : 1;
  const usage = process.cpuUsage();
  const start = performance.now();
  let error: unknown;
  try {
    for (let slice = 1; slice <= slices; slice++) {
      await run.until(work.clockAt + Math.floor((timed * slice) / slices));
      sliceEnds.push(performance.now() - start);
    }
    await work.last?.();
  } catch (thrown) {
    error = thrown;
  }
  const milliseconds = performance.now() - start;
  const { user, system } = process.cpuUsage(usage);
  return {
    steps: run.done - work.clockAt,
    seconds: milliseconds / 1000,
    samples: run.samples.subarray(0, run.sampled),
    sliceEnds: statistics && error === undefined ? sliceEnds : [],
    cpu: (user + system) / 1000 / milliseconds,
    ...(error !== undefined && { error }),
  };
}

class Run {
  /** Steps that are done. */
  done = 0;
  samples = new Float64Array(0);
  sampled = 0;
  readonly #patience: Patience;
  readonly #work: Work;
  #chunk = FIRST_CHUNK;
  #every = 0;
  #nextSample = -1;

  constructor(patience: Patience, work: Work) {
    this.#patience = patience;
    this.#work = work;
  }

  /** From now on every `every`-th step is timed, of `steps` that are left. */
  sample(steps: number, every: number): void {
    this.#every = every;
    this.#nextSample = this.done;
    this.samples = new Float64Array(Math.ceil(steps / every));
  }

  /** Does the steps before `end`. */
  async until(end: number): Promise<void> {
    if (this.done === 0 && end > 0 && this.#work.first) {
      await this.#work.first();
      this.#work.check?.(0);
      this.done = 1;
    }
    while (this.done < end) {
      const start = performance.now();
      await this.#steps(Math.min(end, this.done + this.#chunk));
      const took = performance.now() - start;
      if (took < BREATH / 2) {
        this.#chunk *= 2;
      } else {
        this.#chunk = Math.max(1, Math.round((this.#chunk * BREATH) / took));
        await this.#patience.breathe();
      }
    }
  }

  async #steps(end: number): Promise<void> {
    const { check } = this.#work;
    while (this.done < end) {
      try {
        this.#plain(end);
      } catch (error) {
        await this.#patience.finish(error);
        check?.(this.done);
        this.done++;
      }
    }
  }

  #plain(end: number): void {
    const { step, check } = this.#work;
    for (; this.done < end; this.done++) {
      if (this.done === this.#nextSample) this.#timed(step);
      else step(this.done);
      if (check) check(this.done);
    }
  }

  #timed(step: (index: number) => void): void {
    this.#nextSample += this.#every;
    const start = performance.now();
    step(this.done);
    this.samples[this.sampled++] = performance.now() - start;
  }
}
