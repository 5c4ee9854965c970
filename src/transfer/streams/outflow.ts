import type { MemoryPart } from '../memory.js';
import type { MemoryPool } from '../memory-pool.js';
import type { ByteSource } from './sources.js';

// The most chunks of a stream in flight.
export const AHEAD = 4;

/** Where a stream of bytes goes, chunk after chunk. */
export interface Destination {
  /** The most bytes of a chunk. */
  readonly chunk: number;
  /** Whether short chunks are useful, because the other side can use their bytes at once. */
  readonly flushes: boolean;
  /** Begins to transfer the next chunk. `arrived` settles when the peer has it, or when it has failed. */
  send(part: MemoryPart): Promise<{ readonly arrived: PromiseLike<unknown> }>;
  /** All chunks have arrived. */
  end(chunks: number, byteLength: number): Promise<void>;
}

/** What a stream of bytes uses. */
export interface Flow {
  readonly pool: MemoryPool;
  readonly timeout: number;
  /** Aborts when the stream fails, with its error. */
  readonly signal: AbortSignal;
  /** Ends the stream with an error. */
  fail(error: unknown): void;
}

/** Moves the bytes of a source to a destination, through the buffers of a pool. Returns the number of bytes. */
export async function outflow(
  source: ByteSource,
  destination: Destination,
  flow: Flow,
): Promise<number> {
  const { pool, signal, timeout } = flow;
  const inFlight = new Set<Promise<void>>();
  const size = Math.min(pool.size, destination.chunk);
  let chunks = 0;
  let byteLength = 0;
  const sendNext = async (): Promise<boolean> => {
    const lease = await pool.acquire(size, { signal, timeout });
    const release = () => void lease.release();
    try {
      const idle = destination.flushes ? Promise.all(inFlight) : undefined;
      const length = await source.fill(lease.bytes, signal, idle);
      if (length > 0) {
        const { arrived } = await destination.send(lease.slice(0, length));
        const done = Promise.resolve(arrived).then(release, (error) => {
          release();
          flow.fail(error);
        });
        inFlight.add(done);
        done.then(() => inFlight.delete(done));
        chunks += 1;
        byteLength += length;
        return true;
      }
    } catch (error) {
      release();
      throw error;
    }
    release();
    return false;
  };
  try {
    while (await sendNext()) if (inFlight.size >= AHEAD) await Promise.race(inFlight);
    await Promise.all(inFlight);
    signal.throwIfAborted();
    await destination.end(chunks, byteLength);
    return byteLength;
  } finally {
    await Promise.all(inFlight);
  }
}
