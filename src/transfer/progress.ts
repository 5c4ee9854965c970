import type { Reader } from '../base/arrivals.js';
import { samples } from '../base/samples.js';
import type { Outcome } from './outcome.js';

/** The progress of a transfer. */
export interface Progress {
  /** Bytes. */
  readonly done: number;
  readonly total: number;
}

const INTERVAL = 50; // ms

/** Reports the progress of a transfer until its end. */
export function progressOf(sample: () => Progress, outcome: Outcome): Reader<Progress> {
  let isOver = false;
  const asked = () => {
    if (!isOver) return;
    isOver = false;
    finish();
  };
  // The engine keeps the event loop alive.
  const options = { asked, unref: true };
  const { arrivals, reader } = samples<Progress>(sample, INTERVAL, options);
  const finish = async () => {
    try {
      await outcome.end;
      const { total } = sample();
      arrivals.push({ done: total, total });
      arrivals.end();
    } catch (error) {
      arrivals.endWith(error);
    }
  };
  arrivals.push(sample());
  // A loop that was left, or that asks for no more reports, does not handle a failure.
  outcome.over.then(() => {
    if (arrivals.awaited) finish();
    else isOver = true;
  });
  return reader;
}
