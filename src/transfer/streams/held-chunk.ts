import type { MemoryLease } from '../lease.js';
import type { MemoryPool } from '../memory-pool.js';

/** A chunk that has arrived, in a buffer of a pool until somebody else waits for the buffer. */
export class HeldChunk {
  /** Bytes. */
  readonly length: number;
  readonly #lease: MemoryLease;
  #bytes: Uint8Array;
  readonly #leave: () => void;

  constructor(pool: MemoryPool, lease: MemoryLease, length: number) {
    this.length = length;
    this.#lease = lease;
    this.#bytes = lease.bytes.subarray(0, length);
    this.#leave = pool.whenWanted(() => this.#moveOut());
  }

  #moveOut(): void {
    if (this.#lease.closed) return;
    this.#bytes = Uint8Array.from(this.#bytes);
    this.#lease.release();
  }

  /** The bytes. They stay where they are until release(). */
  keep(): Uint8Array {
    this.#leave();
    return this.#bytes;
  }

  release(): void {
    this.#leave();
    this.#lease.release();
  }
}
