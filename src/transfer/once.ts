// The numbers below the highest one that a late copy may still have: a sender has fewer under way.
const WINDOW = 4096;

/**
 * Lets each message pass once: a message is sent again if its rail fails. Numbers have 32 bits and start again
 * after the last one.
 */
export class Once {
  #highest = 0;
  readonly #seen = new Set<number>();

  isNew(sequence: number): boolean {
    const ahead = (sequence - this.#highest) | 0;
    if (ahead <= -WINDOW || this.#seen.has(sequence)) return false;
    if (ahead > 0) this.#advance(ahead);
    this.#seen.add(sequence);
    return true;
  }

  #advance(ahead: number): void {
    if (ahead >= WINDOW) this.#seen.clear();
    else {
      const oldest = this.#highest - WINDOW + 1;
      for (let i = 0; i < ahead; i++) this.#seen.delete((oldest + i) >>> 0);
    }
    this.#highest = (this.#highest + ahead) >>> 0;
  }

  /** The numbers that have passed, as far as it remembers them. */
  get seen(): Iterable<number> {
    return this.#seen;
  }
}
