import type { Counter } from '../../../../counter.js';
import type { RoundCounter } from '../../../../endpoint/round-events.js';
import type { Session } from '../../common/session.js';

/** Counts the exchanges of a ping-pong with the counters that are bound to its endpoint. */
export class ExchangeCounts {
  readonly #counters: readonly { counter: Counter; before: bigint }[];

  /** @param injects whether sends are injected; their completions are not awaited. */
  constructor(session: Session, injects: boolean) {
    const { counters } = session;
    if (counters === undefined) throw new Error('the endpoint has no counters');
    const { receives, sends } = counters;
    const awaited = injects ? [receives] : [receives, sends];
    this.#counters = awaited.map((counter) => ({ counter, before: counter.read() }));
  }

  /** The counter thresholds of so many completed exchanges. Each round raises them by one. */
  reach(exchanges: number): RoundCounter[] {
    return this.#counters.map(({ counter, before }) => ({
      counter,
      threshold: before + BigInt(exchanges),
    }));
  }
}
