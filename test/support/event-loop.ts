// How long the event loop stands still.

/** What the longest of its stalls may be, in ms: 50 on a quiet machine, and room for a busy one. */
export const STALL_MS = 150;

/** Looks at the clock at every turn of the event loop, from now until the end. */
export class Stalls {
  #last = performance.now();
  #longest = 0;
  #ended = false;

  constructor() {
    const look = () => {
      const now = performance.now();
      this.#longest = Math.max(this.#longest, now - this.#last);
      this.#last = now;
      if (!this.#ended) setImmediate(look);
    };
    setImmediate(look);
  }

  /** The longest so far, in ms. */
  end(): number {
    this.#ended = true;
    return Math.max(this.#longest, performance.now() - this.#last);
  }
}
