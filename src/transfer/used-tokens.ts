// Tokens are forgotten when they have expired. The first time is at this number of tokens.
const FIRST_SWEEP = 64;

/** The tokens that were used. A token that has expired is forgotten, because its expiry refuses it. */
export class UsedTokens {
  readonly #expiries = new Map<string, number>(); // milliseconds since 1970
  #sweepAt = FIRST_SWEEP;

  has(token: string): boolean {
    return this.#expiries.has(token);
  }

  /** Returns false if the token was used before. */
  add(token: string, expires: number): boolean {
    if (this.#expiries.has(token)) return false;
    if (this.#expiries.size >= this.#sweepAt) this.#sweep();
    this.#expiries.set(token, expires);
    return true;
  }

  #sweep(): void {
    const now = Date.now();
    for (const [token, expires] of this.#expiries) if (expires < now) this.#expiries.delete(token);
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#expiries.size);
  }
}
