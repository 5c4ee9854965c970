/** A peer: an address in an address vector (fi_av(3)). It is good for operations until removed. */
export class Peer {
  /** @internal Handle in the engine's table: it carries a generation. */
  readonly handle: number;
  /** @internal The addresses this peer belongs to, by identity. */
  readonly vector: object;
  #removed = false;

  /** @internal */
  constructor(handle: number, vector: object) {
    this.handle = handle;
    this.vector = vector;
  }

  /** Whether it has been removed from its address vector. */
  get removed(): boolean {
    return this.#removed;
  }

  /** @internal */
  static is(value: unknown): value is Peer {
    return typeof value === 'object' && value !== null && #removed in value;
  }

  /** @internal */
  markRemoved(): void {
    this.#removed = true;
  }
}
