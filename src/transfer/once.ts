// The most by which the number of a late copy may be below the highest number. A sender has fewer messages in flight.
const WINDOW = 4096;

/**
 * Lets each message pass once. If its rail fails, a message is sent again and may arrive twice. Numbers have 32 bits
 * and wrap around.
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

  /** The numbers that have passed and are still remembered. */
  get seen(): Iterable<number> {
    return this.#seen;
  }
}
