import { countAsHandled } from '../../base/cancellation.js';
import type { MemoryLease } from '../lease.js';
import { HeldChunk } from './held-chunk.js';
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
  /** Asks the peer for chunks. @param chunks how many since the beginning. */
  ask(chunks: number): void;
  /** Begins the next chunk. Undefined: there are no more. The calls follow each other. */
  next(): Promise<Inbound | undefined>;
  /** All chunks were taken. */
  end(chunks: number, byteLength: number): Promise<void>;
}

/** Moves the bytes of an origin to a sink, through the buffers of a pool. Returns the number of bytes. */
export async function inflow(origin: Origin, sink: ByteSink, flow: Flow): Promise<number> {
  const { pool, signal } = flow;
  const ahead: Promise<HeldChunk | undefined>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let chunks = 0;
  let byteLength = 0;
  const arrival = async (begun: Promise<Inbound | undefined>) => {
    const inbound = await begun;
    if (inbound === undefined) return undefined;
    try {
      const length = await inbound.arrived;
      if (length > 0) return new HeldChunk(pool, inbound.lease, length);
    } catch (error) {
      inbound.lease.release();
      throw error;
    }
    inbound.lease.release();
    return undefined;
  };
  const begin = () => {
    const begun = last.then(() => origin.next());
    last = begun;
    const held = arrival(begun);
    countAsHandled(held);
    ahead.push(held);
  };
  const takeNext = async (): Promise<boolean> => {
    await sink.ready?.(signal);
    if (ahead.length < AHEAD) origin.ask(chunks + AHEAD);
    while (ahead.length < AHEAD) begin();
    const held = await (ahead[0] as Promise<HeldChunk | undefined>);
    if (held === undefined) return false;
    await sink.take(held.keep(), signal);
    ahead.shift();
    held.release();
    chunks += 1;
    byteLength += held.length;
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
async function releaseAll(ahead: readonly Promise<HeldChunk | undefined>[]): Promise<void> {
  for (const each of await Promise.allSettled(ahead))
    if (each.status === 'fulfilled') each.value?.release();
}
