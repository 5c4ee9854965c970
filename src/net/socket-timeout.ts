import { checkMilliseconds } from '../base/checks.js';

/** Calls `expired` after a time without activity. It does not keep the event loop alive. */
export class SocketTimeout {
  readonly #expired: () => void;
  #timer: NodeJS.Timeout | undefined;
  #expiring: NodeJS.Immediate | undefined;
  #milliseconds = 0;

  constructor(expired: () => void) {
    this.#expired = expired;
  }

  get milliseconds(): number {
    return this.#milliseconds;
  }

  /** @param milliseconds 0: no limit. */
  set(milliseconds: number): void {
    this.#milliseconds = checkMilliseconds('milliseconds', milliseconds);
    clearTimeout(this.#timer);
    clearImmediate(this.#expiring);
    this.#timer = milliseconds > 0 ? setTimeout(this.#fire, milliseconds).unref() : undefined;
  }

  // If the event loop was busy, what has arrived waits behind the timer.
  readonly #fire = (): void => {
    this.#expiring = setImmediate(this.#expired);
  };

  /** The socket was active. */
  refresh(): void {
    this.#timer?.refresh();
    if (this.#expiring === undefined) return;
    clearImmediate(this.#expiring);
    this.#expiring = undefined;
  }
}
