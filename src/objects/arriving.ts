/** What arrives in pieces and is kept until it is whole: a message of a channel, or the list of the parts of an upload. */
export interface Arrival {
  /** Ends it: others need its memory. */
  crowdedOut(): void;
}

/**
 * The memory of what has not arrived whole, from all clients. If there is too much, the arrival that began first ends: one
 * that a client sends without a pause is whole before.
 */
export class Arriving {
  readonly #most: number;
  #bytes = 0;
  readonly #arrivals = new Map<Arrival, number>();

  /** @param most bytes of all arrivals together. */
  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @param bytes that have arrived until now. */
  part(arrival: Arrival, bytes: number): void {
    this.#bytes += bytes - (this.#arrivals.get(arrival) ?? 0);
    this.#arrivals.set(arrival, bytes);
    while (this.#bytes > this.#most) {
      const [first] = this.#arrivals.keys();
      this.whole(first as Arrival);
      first?.crowdedOut();
    }
  }

  /** An arrival is whole, or has ended. */
  whole(arrival: Arrival): void {
    this.#bytes -= this.#arrivals.get(arrival) ?? 0;
    this.#arrivals.delete(arrival);
  }
}
