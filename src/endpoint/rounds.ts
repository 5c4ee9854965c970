import { checkInteger, checkMilliseconds, namesOf } from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import type { Memory } from '../engine/memory.js';
import type { Rounds } from '../engine/round-times.js';
import { checkRoundEvents, type RoundEventOptions } from './round-events.js';

/**
 * How often one call posts a batch. A round starts when all operations of the round before it have
 * completed.
 */
export interface RoundOptions extends RoundEventOptions {
  /** The number of rounds. If omitted, 1, or unlimited with a `duration`. */
  readonly times?: number;
  /** Milliseconds after which no further round starts. */
  readonly duration?: number;
  /**
   * Receives the durations of single rounds in milliseconds until it is full: of the first round,
   * and then of every `every`-th round. If the call fails, nothing is written.
   */
  readonly samples?: Float64Array;
  /** Every how many rounds one is timed. If omitted, 1. Timing a round costs about 50 ns. */
  readonly every?: number;
}

/** The options of {@link BatchBase.run}. */
export interface RunOptions extends RoundOptions {
  /** The timeout of a round in milliseconds. If omitted, 10,000. */
  readonly timeout?: number;
}

/** The names of {@link RunOptions}. */
export const RUN_NAMES = namesOf<RunOptions>({
  times: 1,
  duration: 1,
  samples: 1,
  every: 1,
  mark: 1,
  until: 1,
  timeout: 1,
});

/** The names of the options of submit(). */
export const SUBMIT_NAMES = [...RUN_NAMES, 'signal'] as const;

/** Checks the options. Returns undefined if they contain none of these. */
export function checkRounds(options: RoundOptions, memory: Memory): Rounds | undefined {
  const { times, duration, samples, every } = options;
  if (times !== undefined) checkInteger('options.times', times, 1);
  if (duration !== undefined) checkMilliseconds('options.duration', duration);
  const events = checkRoundEvents(options, memory);
  if (every !== undefined) checkInteger('options.every', every, 1, 0xffff_ffff);
  if (samples === undefined) {
    if (every !== undefined) throw invalidArgValue('options.every', 'needs options.samples');
    if (times === undefined && duration === undefined && events === undefined) return undefined;
  } else if (!(samples instanceof Float64Array)) {
    throw invalidArgType('options.samples', 'a Float64Array', samples);
  }
  return {
    times: times ?? (duration === undefined ? 1 : Number.MAX_SAFE_INTEGER),
    // A duration of 0 still runs one round.
    span: duration === undefined ? 0 : Math.max(duration * 1000, Number.MIN_VALUE),
    samples,
    every: samples === undefined || samples.length === 0 ? 0 : (every ?? 1),
    events,
  };
}
