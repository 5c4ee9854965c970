const MOST = 65_536;

/**
 * The peers that were forgotten. The engine has also forgotten which of their offers have ended. Keys refuse the tokens of these
 * offers, but mapped memory has no keys, so the memory of such a peer is not mapped again. Identities of engines that were closed
 * do not come back. If there are too many others, nothing is mapped any more.
 */
export class ForgottenPeers {
  readonly #identities = new Set<bigint>();

  add(identity: bigint): void {
    if (this.#identities.size < MOST) this.#identities.add(identity);
  }

  /** Whether the memory of a peer may be mapped. */
  mayMap(identity: bigint): boolean {
    return this.#identities.size < MOST && !this.#identities.has(identity);
  }

  get size(): number {
    return this.#identities.size;
  }
}
