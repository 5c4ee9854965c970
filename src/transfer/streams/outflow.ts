import { Deferred } from '../../base/deferred.js';
import type { MemoryLease } from '../lease.js';
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
  /** Resolves when the peer wants a chunk. No memory is held meanwhile. */
  ready(): Promise<void>;
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
  const acquire = () => pool.acquire(size, { signal, timeout });

  // A buffer that others wait for is not kept while the program has no bytes: they are sent, or go to other memory.
  const fill = async (): Promise<[MemoryLease, number]> => {
    const lease = await acquire();
    const wanted = new Deferred<void>();
    const leave = pool.whenWanted(() => wanted.resolve());
    const idle = destination.flushes
      ? Promise.race([wanted.promise, Promise.all(inFlight)])
      : wanted.promise;
    try {
      const length = await source.fill(lease.bytes, signal, idle);
      if (length === 0 || length === size || destination.flushes) return [lease, length];
      return await refill(lease, length);
    } catch (error) {
      lease.release();
      throw error;
    } finally {
      leave();
    }
  };
  const refill = async (first: MemoryLease, length: number): Promise<[MemoryLease, number]> => {
    const bytes = Buffer.allocUnsafeSlow(size);
    bytes.set(first.bytes.subarray(0, length));
    first.release();
    const all = length + (await source.fill(bytes.subarray(length), signal, undefined));
    const lease = await acquire();
    lease.bytes.set(bytes.subarray(0, all));
    return [lease, all];
  };
  const sendNext = async (): Promise<boolean> => {
    if (!(await source.ready(signal))) return false;
    await destination.ready();
    const [lease, length] = await fill();
    const release = () => void lease.release();
    if (length === 0) {
      release();
      return false;
    }
    try {
      const { arrived } = await destination.send(lease.slice(0, length));
      const done = Promise.resolve(arrived).then(release, (error) => {
        release();
        flow.fail(error);
      });
      inFlight.add(done);
      done.then(() => inFlight.delete(done));
    } catch (error) {
      release();
      throw error;
    }
    chunks += 1;
    byteLength += length;
    return true;
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
