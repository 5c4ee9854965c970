import { Arrivals, Reader } from './arrivals.js';

/** A queue of samples. Its owner may push further values. */
export interface Samples<T> {
  readonly arrivals: Arrivals<T>;
  readonly reader: Reader<T>;
}

/** How samples are taken. */
export interface SamplesOptions {
  /** Ends the samples: next() rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Whether something else keeps the process alive while next() waits. */
  readonly unref?: boolean;
  /** Called when a call of next() starts waiting. */
  asked?(): void;
}

/**
 * Takes a sample at every interval while a call of next() waits. The first sample comes after an interval. So a slow
 * reader skips samples instead of receiving a burst of them, and no timer remains after the last reader.
 *
 * @param interval milliseconds.
 */
export function samples<T>(
  take: () => T,
  interval: number,
  { signal, unref = false, asked }: SamplesOptions = {},
): Samples<T> {
  let start: number | undefined;
  let count = 0; // of intervals since the start
  let calls = 0;
  let timer: NodeJS.Timeout | undefined;
  const schedule = () => {
    start ??= performance.now();
    const elapsed = performance.now() - start;
    count = Math.max(count + 1, Math.ceil(elapsed / interval));
    timer = setTimeout(tick, Math.max(0, count * interval - elapsed));
    if (unref) timer.unref();
  };
  const tick = () => {
    timer = undefined;
    try {
      arrivals.push(take());
    } catch (error) {
      arrivals.endWith(error);
    }
    if (calls > 0) schedule();
  };
  const waits = (change: number) => {
    calls += change;
    if (change > 0) asked?.();
    if (calls === 0) {
      clearTimeout(timer);
      timer = undefined;
    } else if (change > 0 && timer === undefined) {
      schedule();
    }
  };
  const arrivals = new Arrivals<T>({ waits }, { signal });
  return { arrivals, reader: new Reader(arrivals, () => arrivals.end()) };
}
