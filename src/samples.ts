import { Arrivals, Reader } from './arrivals.js';

/** Samples for those who iterate, besides what the owner of the queue pushes. */
export interface Samples<T> {
  readonly arrivals: Arrivals<T>;
  readonly reader: Reader<T>;
}

/**
 * Takes a sample at every interval, the first one after an interval. Only while a call of next()
 * waits: a slow reader skips samples instead of receiving a burst of them, and one that has left
 * leaves no timer behind.
 *
 * @param interval milliseconds.
 * @param signal ends the samples: next() rejects with its reason.
 * @param asked hears that a call of next() waits.
 */
export function samples<T>(
  take: () => T,
  interval: number,
  signal?: AbortSignal,
  asked?: () => void,
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
