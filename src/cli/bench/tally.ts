import type { Counter } from '../../counter.js';
import type { Session } from '../fabtests/session.js';

/**
 * Counts what a ping-pong has sent and received, and waits for it by the counters that the endpoint
 * is bound to: fi_cntr_read.
 */
export class Tally {
  readonly #session: Session;
  readonly #sends: Counter;
  readonly #receives: Counter;
  #sent: bigint;
  #received: bigint;

  constructor(session: Session) {
    const { counters } = session;
    if (counters === undefined) throw new Error('the endpoint has no counters');
    this.#session = session;
    this.#sends = counters.sends;
    this.#receives = counters.receives;
    this.#sent = this.#sends.read();
    this.#received = this.#receives.read();
  }

  /** Waits for one more receive, and one more send unless it was injected, as Patience.spin() does. */
  awaitExchange(injected: boolean): void {
    this.#received++;
    if (!injected) this.#sent++;
    this.#session.patience.spin(this.#there);
  }

  readonly #there = () =>
    this.#receives.read() >= this.#received && this.#sends.read() >= this.#sent;
}
