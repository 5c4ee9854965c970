import { type Handle, type NativeRoundEvents, native } from '../contract/native.js';

/** The checked options of rounds. */
export interface Rounds {
  readonly times: number;
  /** Microseconds. 0: unlimited. */
  readonly span: number;
  readonly samples: Float64Array | undefined;
  /** 0: no round is timed. */
  readonly every: number;
  readonly events: NativeRoundEvents | undefined;
}

/** The rounds of a call without options. */
export const ONE_ROUND: Rounds = {
  times: 1,
  span: 0,
  samples: undefined,
  every: 0,
  events: undefined,
};

/** The array in which the engine writes the durations of a batch's rounds, in microseconds. */
export class RoundTimes {
  #times = new Float64Array(0);

  /** Prepares the engine for the rounds of the next submission. The batch must not be in flight. */
  prepare(domain: Handle<'Domain'>, batch: number, { samples, events }: Rounds): void {
    const room = samples?.length ?? 0;
    if (this.#times.length < room) {
      this.#times = new Float64Array(native.batchSamples(domain, batch, room));
    }
    if (events !== undefined) native.batchEvents(domain, batch, events);
  }

  /** Copies the durations of `done` rounds into the caller's array, in milliseconds. */
  give({ samples, every }: Rounds, done: number): void {
    if (samples === undefined || every === 0) return;
    const count = Math.min(samples.length, Math.ceil(done / every));
    for (let i = 0; i < count; i++) samples[i] = (this.#times[i] as number) / 1000;
  }
}
