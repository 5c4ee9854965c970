import type { Counter } from '../../../../counter.js';
import type { Session } from '../../common/session.js';

/** What a ping-pong has sent and received, by the counters that its endpoint is bound to. */
export class Tally {
  readonly #session: Session;
  readonly #sends: Counter;
  readonly #receives: Counter;
  readonly #injects: boolean;
  readonly #sent: bigint;
  readonly #received: bigint;
  #exchanges = 0n;

  /** @param injects messages that are injected are not waited for. */
  constructor(session: Session, injects: boolean) {
    const { counters } = session;
    if (counters === undefined) throw new Error('the endpoint has no counters');
    this.#session = session;
    this.#sends = counters.sends;
    this.#receives = counters.receives;
    this.#injects = injects;
    this.#sent = this.#sends.read();
    this.#received = this.#receives.read();
  }

  /** Waits until so many exchanges have been counted, as Patience.spin() does. */
  spin(exchanges: number): void {
    this.#exchanges = BigInt(exchanges);
    this.#session.patience.spin(this.#counted);
  }

  /** The same, however long it takes. */
  async wait(exchanges: number): Promise<void> {
    try {
      this.spin(exchanges);
    } catch (error) {
      await this.#session.patience.finish(error);
    }
  }

  readonly #counted = () =>
    this.#receives.read() >= this.#received + this.#exchanges &&
    (this.#injects || this.#sends.read() >= this.#sent + this.#exchanges);
}
