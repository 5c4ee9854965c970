// Programs that fast-check generates, on two endpoints and on a model of them: messages, batches, memory and streams.
import fc from 'fast-check';
import type { Message } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { howOften } from '../support/properties.js';
import { Guarded, pair } from '../support/transfer.js';

const PROGRAMS = 30;
const LONGEST = 300;
const REGION = 4096;

const lengths = fc.oneof(fc.nat({ max: 200 }), fc.nat({ max: LONGEST }));

describe.each([
  ['shm', 'thread'],
  ['shm', 'manual'],
  ['tcp;ofi_rxm', 'loop'],
] as const)('%s, %s driver', (provider, driver) => {
  const check = async <T>(property: fc.IAsyncProperty<T>) => {
    const details = await fc.check(property, howOften<T>(PROGRAMS));
    if (details.failed) throw new Error(fc.defaultReportMessage(details));
  };

  // A step sends a message, or receives one, with one of a few tags. The receives of a tag get its messages in order.
  test('tagged receives get the messages of their tag in order, whichever comes first', async (context) => {
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const step = fc.record({ sends: fc.boolean(), tag: fc.nat({ max: 3 }), length: lengths });
    let program = 0;
    await check(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        program += 1;
        const tagOf = (tag: number) => BigInt(program * 4 + tag);
        const sent: Uint8Array[][] = [[], [], [], []];
        const received: { buffer: Guarded; tag: number; done: Promise<{ length: number }> }[] = [];
        const sends: Promise<unknown>[] = [];
        const send = (tag: number, length: number) => {
          const bytes = pattern(length, sends.length + 1);
          sent[tag]?.push(bytes);
          sends.push(a.tsend(bytes, toB, tagOf(tag)));
        };
        const receive = (tag: number) => {
          const buffer = new Guarded(LONGEST);
          received.push({ buffer, tag, done: b.trecv(buffer.bytes, null, tagOf(tag)) });
        };
        for (const { sends: isSend, tag, length } of steps)
          isSend ? send(tag, length) : receive(tag);
        // Every message is received, and every receive gets one.
        for (let tag = 0; tag < 4; tag++) {
          const posted = () => received.filter((each) => each.tag === tag).length;
          while (posted() < (sent[tag]?.length ?? 0)) receive(tag);
          while (posted() > (sent[tag]?.length ?? 0)) send(tag, 1);
        }
        await wire.done(Promise.all([...sends, ...received.map(({ done }) => done)]));
        for (const { buffer, tag, done } of received) {
          const expected = sent[tag]?.shift() as Uint8Array;
          expect((await done).length).toBe(expected.length);
          expectBytes(buffer.bytes.subarray(0, expected.length), expected);
          buffer.expectIntact();
        }
      }),
    );
  });

  // A step writes or reads a part of a region, alone or in a batch. The model is an array of bytes.
  test('a region has what was written to it, alone and in batches', async (context) => {
    const wire = await pair(context, provider, ['FI_RMA'], driver);
    const { a, b, toB } = wire;
    const region = await b.domain.allocate(REGION, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    const remote = a.domain.remote(region.descriptor());
    const model = new Uint8Array(REGION);
    const options = (offset: number) => ({ offset, flags: ['FI_DELIVERY_COMPLETE'] as const });
    const access = fc.record({
      writes: fc.boolean(),
      offset: fc.nat({ max: REGION - LONGEST }),
      length: fc.integer({ min: 1, max: LONGEST }),
      seed: fc.nat({ max: 1000 }),
    });
    const step = fc.oneof(
      access.map((each) => [each]),
      fc.array(access, { minLength: 1, maxLength: 8 }),
    );
    await check(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        for (const accesses of steps) {
          // The operations of a batch have no order.
          const { writes } = accesses[0] as { writes: boolean };
          const parts = writes ? accesses.filter(disjoint()) : accesses;
          const buffers = parts.map(({ length, seed }) => {
            const buffer = new Guarded(length);
            if (writes) buffer.bytes.set(pattern(length, seed));
            return buffer;
          });
          const batch = a.batch();
          parts.forEach(({ offset }, i) => {
            const { bytes } = buffers[i] as Guarded;
            if (writes) batch.write(bytes, toB, remote, options(offset));
            else batch.read(bytes, toB, remote, { offset });
          });
          const first = parts[0] as (typeof parts)[number];
          const { bytes } = buffers[0] as Guarded;
          if (parts.length > 1) await wire.done(batch.submit());
          else if (writes) await wire.done(a.write(bytes, toB, remote, options(first.offset)));
          else await wire.done(a.read(bytes, toB, remote, { offset: first.offset }));
          batch.close();
          parts.forEach(({ offset, length }, i) => {
            const buffer = buffers[i] as Guarded;
            if (writes) model.set(buffer.bytes, offset);
            expectBytes(buffer.bytes, model.slice(offset, offset + length));
            buffer.expectIntact();
          });
          expectBytes(region.bytes, model);
        }
      }),
    );
  });

  // Streams begin and end between messages. The next stream or recv() gets the messages that a stream has not read.
  test('messages arrive in order over any number of streams and receives', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const reader = fc.record({
      stream: fc.boolean(),
      count: fc.integer({ min: 1, max: 6 }),
      buffers: fc.integer({ min: 1, max: 8 }),
    });
    await check(
      fc.asyncProperty(fc.array(reader, { maxLength: 6 }), fc.array(lengths), async (all, more) => {
        const total = all.reduce((sum, { count }) => sum + count, 0);
        const messages = Array.from({ length: total }, (_, i) => pattern(more[i] ?? i, i + 1));
        const sends = Promise.all(messages.map((bytes) => a.send(bytes, toB)));
        sends.catch(() => {});
        const expectNext = (bytes: Uint8Array) =>
          expectBytes(bytes, messages.shift() as Uint8Array);
        for (const { stream, count, buffers } of all) {
          if (stream) {
            const reading = b.messages({ count: buffers, size: LONGEST });
            for (let i = 0; i < count; i++) {
              const { value } = await wire.done(reading.next());
              expectNext((value as Message).bytes);
            }
            await wire.done(reading.return());
          } else {
            for (let i = 0; i < count; i++) {
              const bytes = new Uint8Array(LONGEST);
              const { length } = await wire.done(b.recv(bytes));
              expectNext(bytes.subarray(0, length));
            }
          }
        }
        await wire.done(sends);
        expect(messages).toEqual([]);
      }),
    );
  });

  // A step sends a message, asks for one without waiting for it, or leaves a stream and begins another one.
  test('calls of next() that nobody awaits settle, and get every message in order', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const step = fc.oneof(
      { arbitrary: fc.constant('send' as const), weight: 4 },
      { arbitrary: fc.constant('next' as const), weight: 4 },
      { arbitrary: fc.constant('leave' as const), weight: 1 },
      { arbitrary: fc.constant('wait' as const), weight: 1 },
    );
    await check(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const sends: Promise<unknown>[] = [];
        const calls: Promise<IteratorResult<Message>>[] = [];
        let stream = b.messages({ count: 4, size: LONGEST });
        for (const each of steps) {
          if (each === 'send') {
            const bytes = pattern(sends.length % LONGEST, sends.length + 1);
            sends.push(a.send(bytes, toB));
          } else if (each === 'next') {
            calls.push(stream.next());
          } else if (each === 'leave') {
            await wire.done(stream.return());
            stream = b.messages({ count: 4, size: LONGEST });
          } else {
            await new Promise(setImmediate);
          }
        }
        await wire.done(stream.return());
        const messages = (await wire.done(Promise.all(calls))).filter(({ done }) => !done);
        const rest = b.messages({ count: 4, size: LONGEST });
        while (messages.length < sends.length) messages.push(await wire.done(rest.next()));
        await wire.done(Promise.all([...sends, rest.return()]));
        for (const [i, { value }] of messages.entries())
          expectBytes(value.bytes, pattern(i % LONGEST, i + 1));
      }),
    );
  });
});

/** A filter for ranges that overlap none before. */
function disjoint() {
  const taken: { offset: number; length: number }[] = [];
  return (range: { readonly offset: number; readonly length: number }): boolean => {
    const overlaps = taken.some(
      ({ offset, length }) =>
        range.offset < offset + length && offset < range.offset + range.length,
    );
    if (!overlaps) taken.push(range);
    return !overlaps;
  };
}
