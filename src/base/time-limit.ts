// If the event loop was busy while a time limit expired, what has arrived in time still waits behind the timer.

const MAX_GRACE = 1000; // ms

/**
 * How long a time limit that has expired waits before it ends a call, in ms: until the event loop has polled, and as long as the
 * timer was late, but at most a second.
 *
 * @param due when the timer should have fired, by performance.now().
 */
export function graceAfter(due: number): number {
  return Math.min(Math.max(performance.now() - due, 1), MAX_GRACE);
}

/** Calls a function after the 'timeout' event of a connection, unless bytes had arrived that the event loop had not read. */
export function ifStillIdle(connection: { readonly bytesRead: number }, call: () => void): void {
  const { bytesRead } = connection;
  setImmediate(() => {
    if (connection.bytesRead === bytesRead) call();
  });
}

/** A time limit of a call. It does not expire before what has arrived in time was read. */
export class TimeLimit {
  #timer: NodeJS.Timeout;
  #isReferenced = true;

  /** @param expired is called unless clear() is called before. */
  constructor(milliseconds: number, expired: () => void) {
    const due = performance.now() + milliseconds;
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(expired, graceAfter(due));
      if (!this.#isReferenced) this.#timer.unref();
    }, milliseconds);
  }

  /** Lets the process exit before the limit expires. */
  unref(): this {
    this.#isReferenced = false;
    this.#timer.unref();
    return this;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
