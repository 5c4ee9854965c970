// The parts of a stream that a client puts.
import type { MemoryLease } from '../transfer/lease.js';
import type { MemoryPart } from '../transfer/memory.js';
import type { MemoryPool } from '../transfer/memory-pool.js';
import type { ByteSource } from '../transfer/streams/sources.js';

const PART = 8 * 1024 * 1024; // bytes of a part over HTTP

/** A part of a stream: bytes, or a part of a lease. */
export type Filled = Uint8Array | MemoryPart;

/**
 * Makes parts of the bytes of a source. A part gets a buffer of the pool only when it is complete, because the source may
 * itself wait for a buffer of this pool, as that of an ObjectClient does.
 */
export class PartReader {
  readonly #source: ByteSource;
  readonly #pool: MemoryPool | undefined;
  readonly #acquire: (length: number) => Promise<MemoryLease>;
  readonly #signal: AbortSignal;
  readonly #leases = new Map<Filled, { release(): unknown }>();
  #room: Uint8Array | undefined;
  #ended = false;

  constructor(
    source: ByteSource,
    pool: MemoryPool | undefined,
    acquire: (length: number) => Promise<MemoryLease>,
    signal: AbortSignal,
  ) {
    this.#source = source;
    this.#pool = pool;
    this.#acquire = acquire;
    this.#signal = signal;
  }

  /** Whether the source has ended. Then next() returns undefined. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The next part. Undefined after the last one. */
  async next(): Promise<Filled | undefined> {
    if (this.#ended || !(await this.#more())) return undefined;
    const room = this.#room ?? Buffer.allocUnsafeSlow(this.#pool?.size ?? PART);
    if (this.#pool) this.#room = room;
    const length = await this.#source.fill(room, this.#signal, undefined);
    if (length < room.length) this.#ended = true;
    else await this.#more(); // to know whether it is the last one
    if (length === 0) return undefined;
    const bytes = room.subarray(0, length);
    if (this.#pool === undefined) return bytes;
    const lease = await this.#acquire(length);
    lease.bytes.set(bytes);
    this.#leases.set(lease, lease);
    return lease;
  }

  /** Whether there may be more bytes. */
  async #more(): Promise<boolean> {
    const isMore = await this.#source.ready(this.#signal);
    this.#ended = !isMore;
    return isMore;
  }

  /** The bytes of a part are not needed any more. */
  free(part: Filled): void {
    this.#leases.get(part)?.release();
    this.#leases.delete(part);
  }

  /** No part is needed any more. */
  end(): void {
    for (const part of this.#leases.keys()) this.free(part);
  }
}
