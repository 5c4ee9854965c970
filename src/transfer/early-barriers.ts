import { isBarrierName } from './barriers.js';

// The most names that are kept, and of one engine. Identities of engines that are no peers are not verified.
const MAX_NAMES = 65_536;
const MAX_OF_ONE = 256;

/** The barriers of engines that are no peers yet. A member of a group may call barrier() before this engine knows it. */
export class EarlyBarriers {
  readonly #names = new Map<bigint, Uint8Array[]>();
  #count = 0;

  /** Keeps the newest names of an engine, and those of the engines that have sent last. */
  add(from: bigint, messages: readonly Uint8Array[]): void {
    const names = [...this.take(from), ...messages.filter(isBarrierName)].slice(-MAX_OF_ONE);
    if (names.length === 0) return;
    this.#names.set(from, names);
    this.#count += names.length;
    for (const oldest of this.#names.keys()) {
      if (this.#count <= MAX_NAMES) return;
      this.take(oldest);
    }
  }

  /** Returns and forgets the names of an engine. */
  take(from: bigint): readonly Uint8Array[] {
    const names = this.#names.get(from) ?? [];
    this.#names.delete(from);
    this.#count -= names.length;
    return names;
  }
}
