import { MAX_MILLISECONDS } from '../base/checks.js';
import { invalidArgType, outOfRange } from '../base/errors.js';

/** Calls `expired` after a time without activity. It does not keep the event loop alive. */
export class SocketTimeout {
  readonly #expired: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(expired: () => void) {
    this.#expired = expired;
  }

  /** @param milliseconds 0: no limit. */
  set(milliseconds: number): void {
    this.stop();
    if (milliseconds > 0) this.#timer = setTimeout(this.#expired, milliseconds).unref();
  }

  /** The socket has ended. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** The socket was active. */
  refresh(): void {
    this.#timer?.refresh();
  }
}

/** The milliseconds of a setTimeout() of a socket. As in node:net, one that is too long is shortened with a warning. */
export function checkTimeout(milliseconds: unknown): number {
  if (typeof milliseconds !== 'number') throw invalidArgType('msecs', 'a number', milliseconds);
  if (!(milliseconds >= 0 && milliseconds < Number.POSITIVE_INFINITY))
    throw outOfRange('msecs', 'a non-negative finite number', milliseconds);
  if (milliseconds <= MAX_MILLISECONDS) return milliseconds;
  process.emitWarning(
    `${milliseconds} does not fit into a 32-bit signed integer. Timeout duration was truncated to ${MAX_MILLISECONDS}.`,
    'TimeoutOverflowWarning',
  );
  return MAX_MILLISECONDS;
}
