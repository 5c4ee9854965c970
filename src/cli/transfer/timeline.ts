import type { RailTimeline } from '../shared/result.js';

/** Milliseconds between samples. */
export const SAMPLE_INTERVAL = 20;

const MOST = 1000; // intervals

/**
 * The bandwidth of each rail over time, from counters of their bytes. If the run is long, intervals
 * are merged, so that there are at most 1,000.
 */
export class Timeline {
  readonly #start: number;
  #times: number[] = [];
  #bytes: (readonly number[])[] = [];
  #every = 1;
  #skipped = 0;

  /** @param now milliseconds. @param bytes the counter of each rail. */
  constructor(now: number, bytes: readonly number[]) {
    this.#start = now;
    this.#times.push(now);
    this.#bytes.push(bytes);
  }

  /** The counters some milliseconds later. */
  sample(now: number, bytes: readonly number[]): void {
    if (++this.#skipped < this.#every) return;
    this.#skipped = 0;
    this.#times.push(now);
    this.#bytes.push(bytes);
    if (this.#times.length <= MOST) return;
    this.#times = everyOther(this.#times);
    this.#bytes = everyOther(this.#bytes);
    this.#every *= 2;
  }

  /** The bandwidth of each interval. `now` and `bytes` end the last one. */
  end(now: number, bytes: readonly number[]): RailTimeline {
    const times = [...this.#times, now];
    const counts = [...this.#bytes, bytes];
    const intervals = times.flatMap((time, i) => (i > 0 && time > (times[i - 1] ?? 0) ? [i] : []));
    const rate = (rail: number, i: number) => {
      const grown = (counts[i]?.[rail] ?? 0) - (counts[i - 1]?.[rail] ?? 0);
      return rounded(grown / 1000 / ((times[i] as number) - (times[i - 1] as number)));
    };
    return {
      milliseconds: intervals.map((i) => rounded((times[i] as number) - this.#start)),
      megabytesPerSecond: bytes.map((_, rail) => intervals.map((i) => rate(rail, i))),
    };
  }
}

// Every second element, from the first on.
const everyOther = <T>(all: readonly T[]): T[] => all.filter((_, i) => i % 2 === 0);

const rounded = (value: number) => Math.round(value * 100) / 100;
