const TURN = 100; // ms
const TURNS = 5;

/**
 * Gives a peer half a second for a sign of life. Time in which this side's event loop was busy does not count, because the
 * answer may wait there.
 */
export class Inquiry {
  readonly #failed: () => void;
  #left = TURNS;
  #timer: NodeJS.Timeout | undefined;

  /** @param failed is called if the peer has not answered. */
  constructor(failed: () => void) {
    this.#failed = failed;
    this.#timer = setTimeout(this.#turn, TURN).unref();
  }

  /** The peer has answered, or nobody needs the answer. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #turn = (): void => {
    this.#left -= 1;
    if (this.#left > 0) this.#timer?.refresh();
    else setImmediate(() => this.#timer && this.#failed()); // what has arrived is read before
  };
}
