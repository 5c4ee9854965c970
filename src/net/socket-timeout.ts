import { checkMilliseconds } from '../base/checks.js';

/** Calls `expired` after a time without activity. It does not keep the event loop alive. */
export class SocketTimeout {
  readonly #expired: () => void;
  #timer: NodeJS.Timeout | undefined;
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
    this.#timer = milliseconds > 0 ? setTimeout(this.#expired, milliseconds).unref() : undefined;
  }

  /** The socket was active. */
  refresh(): void {
    this.#timer?.refresh();
  }
}
