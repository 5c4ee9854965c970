import type { Counter } from '../../../../counter.js';
import type { RoundCounter } from '../../../../round-events.js';
import type { Session } from '../../common/session.js';

/** The exchanges of a ping-pong, by the counters that its endpoint is bound to. */
export class ExchangeCounts {
  readonly #counters: readonly { counter: Counter; before: bigint }[];

  /** @param injects injected messages are not waited for. */
  constructor(session: Session, injects: boolean) {
    const { counters } = session;
    if (counters === undefined) throw new Error('the endpoint has no counters');
    const { receives, sends } = counters;
    const awaited = injects ? [receives] : [receives, sends];
    this.#counters = awaited.map((counter) => ({ counter, before: counter.read() }));
  }

  /** What tells that so many exchanges have completed, and one more each round. */
  reach(exchanges: number): RoundCounter[] {
    return this.#counters.map(({ counter, before }) => ({
      counter,
      threshold: before + BigInt(exchanges),
    }));
  }
}
