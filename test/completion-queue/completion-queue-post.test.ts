import type { QueueEntry } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import { drivers } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { fabricError, pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] as const;

type Wire = Awaited<ReturnType<typeof pair<(typeof CAPS)[number]>>>;

/** Reads `count` entries of a queue, at most `max` at a time. */
async function readEntries(
  wire: Wire,
  side: 'a' | 'b',
  count: number,
  max = 64,
): Promise<QueueEntry[]> {
  const entries: QueueEntry[] = [];
  const all = async () => {
    const deadline = performance.now() + HANG_MS;
    while (entries.length < count) {
      const some = wire[side].receiveQueue.read(max);
      expect(some.length).toBeLessThanOrEqual(max);
      entries.push(...some);
      if (performance.now() > deadline) throw new Error(`${entries.length} of ${count} entries`);
      await new Promise(setImmediate);
    }
  };
  await settle(all(), wire.a.domain, wire.b.domain);
  expect(entries.length).toBe(count);
  return entries;
}

describe.each(drivers)('shm, %s driver', (driver) => {
  test('the entries of posted messages have their contexts', async (context) => {
    const wire = await pair(context, 'shm', CAPS, driver);
    const targets = [1, 2, 3].map((i) => ({ i, bytes: new Uint8Array(100) }));
    for (const target of targets) {
      expect(wire.b.post.recv(target.bytes, null, { context: target })).toBeUndefined();
    }
    const key = Symbol('second');
    for (const [i, of] of [undefined, key, 'third'].entries()) {
      const options = of === undefined ? {} : { context: of };
      expect(wire.a.post.send(pattern(10 * (i + 1), i), wire.toB, options)).toBeUndefined();
    }
    const received = await readEntries(wire, 'b', 3);
    expect(received.map((entry) => entry.context)).toEqual(targets);
    received.forEach(({ context, completion, error }, i) => {
      expect(error).toBeUndefined();
      expect(completion).toMatchObject({ length: 10 * (i + 1) });
      const { bytes } = context as { bytes: Uint8Array };
      expectBytes(bytes.subarray(0, 10 * (i + 1)), pattern(10 * (i + 1), i));
    });
    const sent = await readEntries(wire, 'a', 3);
    expect(new Set(sent.map((entry) => entry.context))).toEqual(new Set([undefined, key, 'third']));
  });

  test('read() returns at most `max` entries, the oldest first', async (context) => {
    const wire = await pair(context, 'shm', CAPS, driver);
    const count = 20;
    const target = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      wire.b.post.recv(target.subarray(i, i + 1), null, { context: i });
    }
    const sends = Array.from({ length: count }, (_, i) => wire.a.send(pattern(1, i), wire.toB));
    await wire.done(Promise.all(sends));
    const entries = await readEntries(wire, 'b', count, 3);
    expect(entries.map((entry) => entry.context)).toEqual(
      Array.from({ length: count }, (_, i) => i),
    );
    expect(wire.b.receiveQueue.read()).toEqual([]);
    expect(() => wire.b.receiveQueue.read(0)).toThrow(RangeError);
  });

  test('tagged messages and RMA have entries', async (context) => {
    const wire = await pair(context, 'shm', CAPS, driver);
    const region = await wire.b.domain.allocate(64, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);
    const remote = wire.a.domain.remote(region.descriptor());
    const [message, copy] = [new Uint8Array(8), new Uint8Array(8)];
    wire.b.post.trecv(message, null, 77n, 0n, { context: 'trecv' });
    wire.a.post.tsend(pattern(8, 1), wire.toB, 77n, { context: 'tsend' });
    wire.a.post.write(pattern(8, 2), wire.toB, remote, { offset: 16, context: 'write' });
    const written = await readEntries(wire, 'a', 2);
    expect(written.map((entry) => entry.context).sort()).toEqual(['tsend', 'write']);
    const [received] = await readEntries(wire, 'b', 1);
    expect(received).toMatchObject({ context: 'trecv', completion: { tag: 77n, length: 8 } });
    expectBytes(message, pattern(8, 1));
    wire.a.post.read(copy, wire.toB, remote, { offset: 16, context: 'read' });
    expect(await readEntries(wire, 'a', 1)).toMatchObject([{ context: 'read' }]);
    expectBytes(copy, pattern(8, 2));
  });

  test('the entry of a failed operation has its error', async (context) => {
    const wire = await pair(context, 'shm', CAPS, driver);
    wire.b.post.recv(new Uint8Array(4), null, { context: 'short' });
    wire.b.post.recv(new Uint8Array(100), null, { context: 'long' });
    const sends = [wire.a.send(pattern(50), wire.toB), wire.a.send(pattern(50), wire.toB)];
    await wire.done(Promise.all(sends));
    const [short, long] = await readEntries(wire, 'b', 2);
    expect(short).toMatchObject({ context: 'short', error: fabricError('FI_ETRUNC') });
    expect(short?.completion).toBeUndefined();
    expect(long).toMatchObject({ context: 'long', completion: { length: 50 } });
    expect(long?.error).toBeUndefined();
    expect(wire.b.receiveQueue.readErrors()).toEqual([]);
  });

  test('an invalid call throws and has no entry', async (context) => {
    const wire = await pair(context, 'shm', CAPS, driver);
    const { post } = wire.a;
    expect(() => post.send(pattern(4), 5 as never)).toThrow(TypeError);
    expect(() => post.send('text' as never, wire.toB)).toThrow(TypeError);
    const { signal } = new AbortController();
    expect(() => post.send(pattern(4), wire.toB, { signal })).toThrow(/promise/);
    wire.b.post.recv(new Uint8Array(4), null, { context: 'good' });
    post.send(pattern(4), wire.toB, { context: 'good' });
    for (const side of ['a', 'b'] as const) {
      expect(await readEntries(wire, side, 1)).toMatchObject([{ context: 'good' }]);
      expect(wire[side].receiveQueue.read()).toEqual([]);
    }
  });

  test('an inject has no entry', async (context) => {
    const wire = await pair(context, 'shm', CAPS, driver);
    const region = await wire.b.domain.allocate(64, ['FI_REMOTE_WRITE']);
    const remote = wire.a.domain.remote(region.descriptor());
    wire.b.post.recv(new Uint8Array(4), null, { context: 'received' });
    wire.b.post.trecv(new Uint8Array(4), null, 7n, 0n, { context: 'tagged' });
    wire.a.post.inject(pattern(4), wire.toB);
    wire.a.post.tinject(pattern(4), wire.toB, 7n);
    wire.a.post.injectWrite(pattern(4), wire.toB, remote);
    wire.a.post.send(pattern(4), wire.toB, { context: 'sent' });
    wire.b.post.recv(new Uint8Array(4), null, { context: 'last' });
    expect(await readEntries(wire, 'a', 1)).toMatchObject([{ context: 'sent' }]);
    await readEntries(wire, 'b', 3);
    expect(wire.a.sendQueue.read()).toEqual([]);
  });

  test('cancel() ends the oldest receive with a context, and no other', async (context) => {
    const wire = await pair(context, 'shm', CAPS, driver);
    const { post } = wire.b;
    const first = new Uint8Array(4);
    post.recv(first, null, { context: 'twice' });
    post.recv(new Uint8Array(4), null, { context: 'twice' });
    post.recv(new Uint8Array(4), null, { context: 'other' });
    expect(post.cancel('unknown')).toBe(false);
    expect(wire.a.post.cancel('twice')).toBe(false);
    expect(post.cancel('twice')).toBe(true);
    const error = fabricError('FI_ECANCELED');
    expect(await readEntries(wire, 'b', 1)).toMatchObject([{ context: 'twice', error }]);
    wire.a.post.send(pattern(4, 1), wire.toB);
    wire.a.post.send(pattern(4, 2), wire.toB);
    const others = await readEntries(wire, 'b', 2);
    expect(others.map((entry) => entry.context)).toEqual(['twice', 'other']);
    expectBytes(first, new Uint8Array(4));
    expect(post.cancel('twice')).toBe(false);
  });

  test('a closed endpoint refuses operations, and its queue cannot be read', async (context) => {
    const wire = await pair(context, 'shm', CAPS, driver);
    const { post } = wire.b;
    post.recv(new Uint8Array(4), null, { context: 'cancelled' });
    await wire.done(wire.b.close());
    expect(() => post.recv(new Uint8Array(4))).toThrow(/closed/);
    expect(() => wire.b.receiveQueue.read()).toThrow(/closed/);
  });
});
