// Streams that share pools of few buffers, in both directions: whatever the others do, each stream ends with all its bytes.
import '../support/softefa.js';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { MemoryPool, RemoteEngine, TransferEngine } from 'libfabric/transfer';
import { describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { slow } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { howOften } from '../support/properties.js';

const SIZE = 4096; // bytes of a buffer

interface Side {
  readonly engine: TransferEngine;
  readonly peer: RemoteEngine; // the other side
  readonly pool: MemoryPool;
}

/** A stream: who writes, how its token is used, and when its program does nothing. */
const stream = fc.record({
  fromA: fc.boolean(),
  way: fc.constantFrom('upload', 'writable', 'download', 'memory upload', 'memory download'),
  parts: fc.array(fc.integer({ min: 0, max: 3 * SIZE }), { maxLength: 8 }),
  pauses: fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 4 }),
  readerPauses: fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 4 }),
});
type Plan = typeof stream extends fc.Arbitrary<infer S> ? S : never;

const plans = fc.record({
  buffersOfA: fc.integer({ min: 1, max: 4 }),
  buffersOfB: fc.integer({ min: 1, max: 4 }),
  streams: fc.array(stream, { minLength: 1, maxLength: 12 }),
});

async function pauseOf(turns: number) {
  for (let i = 0; i < turns; i++) await turn();
}

async function* partsOf({ parts, pauses }: Plan, bytes: Uint8Array) {
  let at = 0;
  for (const [i, length] of parts.entries()) {
    await pauseOf(pauses[i % pauses.length] as number);
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

async function readSlowly(reader: AsyncIterable<Uint8Array>, { readerPauses }: Plan) {
  const all: Uint8Array[] = [];
  for await (const part of reader) {
    all.push(part);
    await pauseOf(readerPauses[all.length % readerPauses.length] as number);
  }
  return Buffer.concat(all);
}

/** Runs a stream. Resolves to the bytes that have arrived. */
async function run(plan: Plan, bytes: Uint8Array, from: Side, to: Side): Promise<Uint8Array> {
  const source = partsOf(plan, bytes);
  const [own, theirs] = [{ pool: from.pool }, { pool: to.pool }];
  if (plan.way === 'memory upload') {
    const memory = await to.engine.allocate(bytes.length + 1);
    const offer = await memory.offer({ access: 'write', to: to.peer });
    await from.peer.upload(source, offer.token, own);
    const arrival = await offer.arrived;
    return arrival.bytes.subarray(0, arrival.length);
  }
  if (plan.way === 'memory download') {
    if (bytes.length === 0) return bytes;
    const memory = await from.engine.register(Uint8Array.from(bytes));
    const offer = await memory.offer({ access: 'read', to: from.peer });
    return readSlowly(to.peer.download(offer.token, theirs), plan);
  }
  if (plan.way === 'download') {
    const outgoing = from.engine.outgoing({ to: from.peer, ...own });
    const [received] = await Promise.all([
      readSlowly(to.peer.download(outgoing.token, theirs), plan),
      outgoing.sendFrom(source),
    ]);
    return received;
  }
  const incoming = to.engine.incoming({ from: to.peer, ...theirs });
  const send = async () => {
    if (plan.way === 'upload') return from.peer.upload(source, incoming.token, own);
    const writable = from.peer.writable(incoming.token, own);
    for await (const part of source) writable.write(part);
    return new Promise<void>((resolve) => writable.end(resolve));
  };
  const [received] = await Promise.all([readSlowly(incoming, plan), send()]);
  return received;
}

describe('shm', () => {
  test('random streams of both directions end with all their bytes', {
    timeout: 600_000,
  }, async () => {
    const { a, b, toA, toB } = await enginePair({ provider: 'shm', nics: 1 });
    await fc.assert(
      fc.asyncProperty(plans, async ({ buffersOfA, buffersOfB, streams }) => {
        const ofA = { engine: a, peer: toB, pool: a.pool({ size: SIZE, count: buffersOfA }) };
        const ofB = { engine: b, peer: toA, pool: b.pool({ size: SIZE, count: buffersOfB }) };
        await Promise.all(
          streams.map(async (plan, i) => {
            const length = plan.parts.reduce((sum, each) => sum + each, 0);
            const bytes = pattern(length, i + 1);
            const [from, to] = plan.fromA ? [ofA, ofB] : [ofB, ofA];
            expect(same(await run(plan, bytes, from, to), bytes)).toBe(true);
          }),
        );
        await Promise.all([ofA.pool.close(), ofB.pool.close()]);
      }),
      howOften(slow ? 3000 : 20),
    );
  });

  test('streams whose programs do nothing hold no buffer that others need', async () => {
    const { a, b, toA, toB } = await enginePair({ provider: 'shm', nics: 1 });
    const [poolA, poolB] = [a.pool({ size: SIZE, count: 2 }), b.pool({ size: SIZE, count: 2 })];
    const bytes = pattern(20 * SIZE);
    const parts = function* () {
      for (let at = 0; at < bytes.length; at += SIZE) yield bytes.subarray(at, at + SIZE);
    };
    const idle = Array.from({ length: 4 }, () => {
      const quiet = b.incoming({ from: toA, pool: poolB });
      const writable = toB.writable(quiet.token, { pool: poolA });
      writable.write('x'); // and nothing more
      quiet.resume();
      const unread = b.incoming({ from: toA, pool: poolB });
      unread.once('readable', () => {}); // and nothing more
      toB.upload(parts(), unread.token, { pool: poolA }).catch(() => {});
      const outgoing = a.outgoing({ to: toB, pool: poolA });
      outgoing.sendFrom(parts()).catch(() => {});
      const paused = toA.download(outgoing.token, { pool: poolB });
      paused.once('readable', () => {}); // and nothing more
      for (const each of [quiet, writable, unread, paused]) each.on('error', () => {});
      return [quiet, writable, unread, paused];
    });
    for (const [from, to] of [
      [
        { engine: a, peer: toB, pool: poolA },
        { engine: b, peer: toA, pool: poolB },
      ],
      [
        { engine: b, peer: toA, pool: poolB },
        { engine: a, peer: toB, pool: poolA },
      ],
    ] as const) {
      for (const way of ['upload', 'download'] as const) {
        const plan = {
          fromA: true,
          way,
          parts: Array(20).fill(SIZE),
          pauses: [0],
          readerPauses: [0],
        };
        expect(same(await run(plan, bytes, from, to), bytes)).toBe(true);
      }
    }
    for (const streams of idle) for (const each of streams) each.destroy();
    await expect.poll(() => poolA.stats().leased + poolB.stats().leased).toBe(0);
  });

  test('the bytes of a stream may go on in another stream of the same pool', async () => {
    const { a, b, toA, toB } = await enginePair({ provider: 'shm', nics: 1 });
    const [poolA, poolB] = [a.pool({ size: SIZE, count: 1 }), b.pool({ size: SIZE, count: 1 })];
    const bytes = pattern(10 * SIZE + 1);
    await Promise.all(
      Array.from({ length: 3 }, async () => {
        const outgoing = b.outgoing({ to: toA, pool: poolB });
        outgoing.end(bytes);
        const incoming = b.incoming({ from: toA, pool: poolB });
        const download = toB.download(outgoing.token, { pool: poolA });
        const copying = toB.upload(download, incoming.token, { pool: poolA });
        const parts: Uint8Array[] = [];
        for await (const part of incoming) parts.push(part);
        await copying;
        expect(same(Buffer.concat(parts), bytes)).toBe(true);
      }),
    );
  });

  test('a call that waits too long names the pool', async () => {
    const { a } = await enginePair({ provider: 'shm', nics: 1 });
    const pool = a.pool({ size: SIZE, count: 1, name: 'pages' });
    using _lease = await pool.acquire();
    await expect(pool.acquire(1, { timeout: 1 })).rejects.toMatchObject({
      code: 'FI_ETIMEDOUT',
      message: expect.stringContaining("all 1 buffers of the pool 'pages' are in use"),
    });
  });
});
