import { countAsHandled } from '../../base/cancellation.js';
import type { MemoryLease } from '../lease.js';
import { AHEAD, type Flow } from './outflow.js';
import type { ByteSink } from './sinks.js';

/** A chunk that is on its way into local memory. */
export interface Inbound {
  readonly lease: MemoryLease;
  /** Resolves to the number of bytes when they are in the memory. 0: no more chunks come. */
  readonly arrived: Promise<number>;
}

/** Where a stream of bytes comes from, chunk after chunk. */
export interface Origin {
  /** Whether a chunk that is begun takes memory although there may be no bytes for it. */
  readonly guesses: boolean;
  /** Begins the next chunk. Undefined: there are no more. The calls follow each other. */
  next(): Promise<Inbound | undefined>;
  /** All chunks were taken. */
  end(chunks: number, byteLength: number): Promise<void>;
}

/** Moves the bytes of an origin to a sink, through the buffers of a pool. Returns the number of bytes. */
export async function inflow(origin: Origin, sink: ByteSink, flow: Flow): Promise<number> {
  const { signal } = flow;
  const ahead: Promise<Inbound | undefined>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let chunks = 0;
  let byteLength = 0;
  const begin = () => {
    const next = last.then(() => origin.next());
    countAsHandled(next);
    last = next;
    return next;
  };
  const takeNext = async (): Promise<boolean> => {
    const most = origin.guesses ? Math.min(AHEAD, 1 + chunks) : AHEAD; // short streams take one buffer
    while (ahead.length < most) ahead.push(begin());
    const inbound = await (ahead[0] as Promise<Inbound | undefined>);
    const length = await inbound?.arrived;
    if (inbound === undefined || length === undefined || length === 0) return false;
    await sink.take(inbound.lease.bytes.subarray(0, length), signal);
    ahead.shift();
    inbound.lease.release();
    chunks += 1;
    byteLength += length;
    return true;
  };
  try {
    while (await takeNext());
    await origin.end(chunks, byteLength);
    return byteLength;
  } catch (error) {
    flow.fail(error);
    throw error;
  } finally {
    releaseAll(ahead);
  }
}

// Releases the memory of chunks that were not taken, when it is free.
async function releaseAll(ahead: readonly Promise<Inbound | undefined>[]): Promise<void> {
  for (const each of await Promise.allSettled(ahead)) {
    if (each.status === 'rejected' || each.value === undefined) continue;
    countAsHandled(each.value.arrived);
    each.value.lease.release();
  }
}
