import { checkInteger, checkMilliseconds } from './checks.js';
import type { Memory } from './engine/memory.js';
import { invalidArgType, invalidArgValue } from './errors.js';
import { type Handle, type NativeRoundEvents, native } from './native.js';
import { checkRoundEvents, type RoundEventOptions } from './round-events.js';

/** How often a batch is posted by one call: again when all its operations have completed. */
export interface RoundOptions extends RoundEventOptions {
  /** Rounds; 1 when left out, and without end where there is a `duration`. */
  readonly times?: number;
  /** Milliseconds after which no further round begins. */
  readonly duration?: number;
  /**
   * Takes the microseconds of single rounds, from the first place on, until it is full: of the
   * first round, and then of every `every`-th. Those of a call that fails are lost.
   */
  readonly samples?: Float64Array;
  /** One round of so many is timed; 1 when left out. Timing one costs about 50 ns. */
  readonly every?: number;
}

/** What {@link BatchBase.run} does. */
export interface RunOptions extends RoundOptions {
  /** Milliseconds that a round may take; 10,000 when left out. */
  readonly timeout?: number;
}

/** The options of rounds, checked and read once. */
export interface Rounds {
  readonly times: number;
  /** Microseconds, 0: without end. */
  readonly span: number;
  readonly samples: Float64Array | undefined;
  /** 0: none is timed. */
  readonly every: number;
  readonly events: NativeRoundEvents | undefined;
}

/** What a call without options does. */
export const ONE_ROUND: Rounds = {
  times: 1,
  span: 0,
  samples: undefined,
  every: 0,
  events: undefined,
};

/** Undefined where the options ask for nothing of the kind. */
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
    // A duration of 0 lets one round begin, too.
    span: duration === undefined ? 0 : Math.max(duration * 1000, Number.MIN_VALUE),
    samples,
    every: samples === undefined || samples.length === 0 ? 0 : (every ?? 1),
    events,
  };
}

/** Where the engine writes what the rounds of a batch take. */
export class RoundTimes {
  #times = new Float64Array(0);

  /** Tells the engine what the rounds of the next submission need; the batch must not be in flight. */
  prepare(domain: Handle<'Domain'>, batch: number, { samples, events }: Rounds): void {
    const room = samples?.length ?? 0;
    if (this.#times.length < room) {
      this.#times = new Float64Array(native.batchSamples(domain, batch, room));
    }
    if (events !== undefined) native.batchEvents(domain, batch, events);
  }

  /** Gives the caller those of `done` rounds. */
  give({ samples, every }: Rounds, done: number): void {
    if (samples === undefined || every === 0) return;
    samples.set(this.#times.subarray(0, Math.min(samples.length, Math.ceil(done / every))));
  }
}
