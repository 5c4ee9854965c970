import { Fabric, type MultiRecv, type MultiRecvMessage } from 'libfabric';
import { describe, expect, type TestContext, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { slow } from '../support/cases.js';
import { until } from '../support/lifecycle.js';
import { available, closing, entryOf, fabricError, Guarded, Pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_MULTI_RECV'] as const;
const MIN_SIZE = 256;

/** Opens two endpoints that release a multi-receive buffer when fewer than MIN_SIZE bytes are left. */
function multi(context: TestContext, provider: string, driver: 'thread' | 'manual') {
  const provName = available(context, provider, CAPS);
  const open = () => {
    const info = entryOf(provName, CAPS);
    const domain = closing(Fabric.open(info)).domain(info, { driver });
    const endpoint = domain.endpoint(info, {
      av: domain.addressVector(),
      cq: domain.completionQueue(),
      options: { FI_OPT_MIN_MULTI_RECV: MIN_SIZE },
    });
    return endpoint;
  };
  return new Pair(open(), open());
}

type Wire = ReturnType<typeof multi>;

/** Sends a message and reads it from the buffer. */
async function transfer(wire: Wire, stream: MultiRecv, length: number): Promise<MultiRecvMessage> {
  const next = stream.next();
  await wire.done(wire.a.send(pattern(length, length), wire.toB));
  const { done, value } = await wire.done(next);
  expect(done, `a message of ${length} bytes`).toBe(false);
  return value;
}

const cases = ['shm', 'tcp;ofi_rxm', 'efa', 'sockets', 'udp;ofi_rxd'].flatMap((provider) =>
  (['thread', 'manual'] as const).map((driver) => [provider, driver] as const),
);

describe.each(cases)('%s, %s driver', (provider, driver) => {
  test('messages of different sizes do not overlap in one buffer', async (context) => {
    const wire = multi(context, provider, driver);
    const buffer = new Guarded(16_384);
    const stream = wire.b.multiRecv(buffer.bytes);
    const sizes = [1, 100, 7, 2048, 64, 5000, 13];
    const messages: MultiRecvMessage[] = [];
    for (const size of sizes) messages.push(await transfer(wire, stream, size));
    expect(stream.released).toBe(false);
    let end = 0;
    messages.forEach(({ bytes, offset }, i) => {
      expect(offset).toBeGreaterThanOrEqual(end);
      end = offset + (sizes[i] as number);
      expectBytes(bytes, pattern(sizes[i] as number, sizes[i]));
      expectBytes(buffer.bytes.subarray(offset, end), bytes);
    });
    buffer.expectIntact();
  });

  test('messages that are sent together are read one by one', async (context) => {
    const wire = multi(context, provider, driver);
    const stream = wire.b.multiRecv(new Uint8Array(8192));
    const sizes = [10, 20, 30, 40, 50];
    const sends = sizes.map((size) => wire.a.send(pattern(size, size), wire.toB));
    await wire.done(Promise.all(sends));
    for (const size of sizes) {
      const { value } = await wire.done(stream.next());
      expectBytes((value as MultiRecvMessage).bytes, pattern(size, size));
    }
  });

  test('a full buffer is released, and its messages stay', async (context) => {
    const wire = multi(context, provider, driver);
    const buffer = new Guarded(1024);
    const stream = wire.b.multiRecv(buffer.bytes);
    const messages = [await transfer(wire, stream, 400), await transfer(wire, stream, 500)];
    expect((await wire.done(stream.next())).done).toBe(true);
    expect(stream.released).toBe(true);
    expectBytes(messages[0]?.bytes as Uint8Array, pattern(400, 400));
    expectBytes(messages[1]?.bytes as Uint8Array, pattern(500, 500));
    buffer.expectIntact();
    const again = wire.b.multiRecv(buffer.bytes);
    expectBytes((await transfer(wire, again, 300)).bytes, pattern(300, 300));
  });

  test('messages are copied; with borrow they are parts of the buffer', async (context) => {
    const wire = multi(context, provider, driver);
    const buffer = new Uint8Array(1024);
    const copying = wire.b.multiRecv(buffer);
    const { bytes: copied } = await transfer(wire, copying, 1000);
    expect((await wire.done(copying.next())).done).toBe(true);
    const borrowing = wire.b.multiRecv(buffer, { borrow: true });
    const { bytes: borrowed, offset } = await transfer(wire, borrowing, 900);
    expectBytes(copied, pattern(1000, 1000));
    expect(borrowed.buffer).toBe(buffer.buffer);
    expect(borrowed.byteOffset).toBe(offset);
  });

  test('the second buffer receives messages when the first is full', async (context) => {
    const wire = multi(context, provider, driver);
    const buffers = [wire.b.multiRecv(new Uint8Array(600)), wire.b.multiRecv(new Uint8Array(600))];
    const [first, second] = buffers as [MultiRecv, MultiRecv];
    await transfer(wire, first, 400);
    expect((await wire.done(first.next())).done).toBe(true);
    expectBytes((await transfer(wire, second, 200)).bytes, pattern(200, 200));
    expect(second.released).toBe(false);
  });

  test('an empty message arrives, also as the last one of a buffer', async (context) => {
    const wire = multi(context, provider, driver);
    const stream = wire.b.multiRecv(new Uint8Array(600));
    for (const size of [0, 100, 0]) {
      expect((await transfer(wire, stream, size)).bytes.length).toBe(size);
    }
    expect(stream.released).toBe(false);
    await wire.done(stream.return());
    if (provider === 'efa') return; // it refuses smaller buffers
    // One message releases a buffer that is smaller than the least free part.
    const small = new Guarded(MIN_SIZE / 2);
    const last = wire.b.multiRecv(small.bytes.subarray(10));
    expect(await transfer(wire, last, 0)).toMatchObject({ offset: 0, bytes: { length: 0 } });
    expect((await wire.done(last.next())).done).toBe(true);
    expect(last.released).toBe(true);
    small.expectIntact();
  });

  test.for([300, 3000, 30_000])(
    'a message of %i bytes that does not fit writes nothing outside of the buffer, nor do later ones',
    async (length, context) => {
      if (provider === 'tcp;ofi_rxm') context.skip('the provider drops the connection');
      const wire = multi(context, provider, driver);
      const { a, b, toB } = wire;
      const memory = new Uint8Array(40_000);
      const [start, end] = [64, 64 + MIN_SIZE + 10];
      const stream = b.multiRecv(memory.subarray(start, end));
      const first = wire.done(stream.next().catch((error) => error));
      const sends = [length, 200, 200].map((size) => a.send(pattern(size, size), toB));
      const failure = await first;
      // The provider does not report truncation.
      if (provider === 'udp;ofi_rxd') expect(failure.value.bytes.length).toBe(end - start);
      else expect(failure).toEqual(fabricError('FI_ETRUNC'));
      expect((await wire.done(stream.next())).done).toBe(true);
      expect(stream.released).toBe(true);
      for (let i = 0; i < 2; i++) {
        const target = new Uint8Array(200);
        expect((await wire.done(b.recv(target))).length).toBe(200);
        expectBytes(target, pattern(200, 200));
      }
      await wire.done(Promise.all(sends));
      expect(memory.findIndex((byte) => byte !== 0)).toBe(start);
      expect(memory.findLastIndex((byte) => byte !== 0)).toBeLessThan(end);
    },
  );

  test('receives behind a buffer get the messages after it, in order', async (context) => {
    const wire = multi(context, provider, driver);
    const { a, b, toB } = wire;
    const first = b.multiRecv(new Uint8Array(600));
    const target = new Uint8Array(100);
    const received = b.recv(target);
    const second = b.multiRecv(new Uint8Array(600));
    const batch = b.batch();
    const inBatch = [new Uint8Array(100), new Uint8Array(100)];
    for (const each of inBatch) batch.recv(each);
    const submitted = batch.submit();
    const sizes = [50, 60, 300, 100, 400, 90, 80];
    const sends = Promise.all(sizes.map((size) => a.send(pattern(size, size), toB)));
    for (const size of [50, 60, 300]) {
      expectBytes((await wire.done(first.next())).value.bytes, pattern(size, size));
    }
    expect((await wire.done(first.next())).done).toBe(true);
    expect((await wire.done(received)).length).toBe(100);
    expectBytes(target, pattern(100, 100));
    expectBytes((await wire.done(second.next())).value.bytes, pattern(400, 400));
    expect((await wire.done(second.next())).done).toBe(true);
    await wire.done(submitted);
    expectBytes((inBatch[0] as Uint8Array).subarray(0, 90), pattern(90, 90));
    expectBytes((inBatch[1] as Uint8Array).subarray(0, 80), pattern(80, 80));
    await wire.done(sends);
  });

  test('receives behind a buffer can be aborted, and end with the endpoint', async (context) => {
    const wire = multi(context, provider, driver);
    const { b } = wire;
    const stream = b.multiRecv(new Uint8Array(600));
    const control = new AbortController();
    const aborted = b.recv(new Uint8Array(100), null, { signal: control.signal });
    const batch = b.batch();
    batch.recv(new Uint8Array(100));
    const submitted = batch.submit({ signal: control.signal });
    const last = b.recv(new Uint8Array(100));
    const outcomes = Promise.allSettled([aborted, submitted]);
    control.abort('enough');
    expect(await wire.done(outcomes)).toEqual([
      { status: 'rejected', reason: 'enough' },
      { status: 'rejected', reason: 'enough' },
    ]);
    expectBytes((await transfer(wire, stream, 70)).bytes, pattern(70, 70));
    const ended = wire.fails(last);
    await wire.done(b.close());
    expect(await ended).toEqual(fabricError('FI_ECANCELED'));
    expect((await wire.done(stream.next())).done).toBe(true);
  });

  test('return() releases the buffer and ends the stream', async (context) => {
    const wire = multi(context, provider, driver);
    const buffer = new Uint8Array(4096);
    const stream = wire.b.multiRecv(buffer);
    expectBytes((await transfer(wire, stream, 50)).bytes, pattern(50, 50));
    const waiting = stream.next();
    await wire.done(stream.return());
    expect(stream.released).toBe(true);
    expect((await wire.done(waiting)).done).toBe(true);
    expect((await wire.done(stream.next())).done).toBe(true);
    const before = buffer.slice();
    const target = new Uint8Array(60);
    const received = wire.b.recv(target);
    await wire.done(wire.a.send(pattern(60), wire.toB));
    expect((await wire.done(received)).length).toBe(60);
    expectBytes(target, pattern(60));
    expectBytes(buffer, before);
  });

  test('recv() and later buffers get the unread messages of a released buffer', async (context) => {
    const wire = multi(context, provider, driver);
    const stream = wire.b.multiRecv(new Uint8Array(4096));
    for (const size of [100, 200, 300, 400, 500]) {
      await wire.done(wire.a.send(pattern(size, size), wire.toB));
    }
    // A completed send does not mean that the message has arrived.
    await wire.done(until(() => wire.b.domain.stats().completions >= 5));
    expectBytes((await wire.done(stream.next())).value.bytes, pattern(100, 100));
    await wire.done(stream.return());
    const target = new Uint8Array(200);
    await wire.done(wire.b.recv(target));
    expectBytes(target, pattern(200, 200));
    // Two of the remaining messages fit into the first buffer.
    const buffers = [new Guarded(1000), new Guarded(2000)] as const;
    const first = wire.b.multiRecv(buffers[0].bytes);
    for (const size of [300, 400]) {
      expectBytes((await wire.done(first.next())).value.bytes, pattern(size, size));
    }
    expect((await wire.done(first.next())).done).toBe(true);
    const second = wire.b.multiRecv(buffers[1].bytes);
    expectBytes((await wire.done(second.next())).value.bytes, pattern(500, 500));
    expectBytes((await transfer(wire, second, 50)).bytes, pattern(50, 50));
    for (const buffer of buffers) buffer.expectIntact();
    await wire.done(second.return());
  });

  test('messages that arrive while a buffer is aborted go to the next receives, which wait for no others', async (context) => {
    const wire = multi(context, provider, driver);
    const { a, b } = wire;
    const stream = b.multiRecv(new Uint8Array(4096));
    const sizes = [10, 0, 20, 0, 300];
    const sends = Promise.all(sizes.map((size) => a.send(pattern(size, size), wire.toB)));
    if (driver === 'manual') a.domain.progress();
    await wire.done(stream.return());
    for (const size of sizes) {
      const target = new Uint8Array(300);
      expect((await wire.done(b.recv(target))).length).toBe(size);
      expectBytes(target.subarray(0, size), pattern(size, size));
    }
    await wire.done(sends);
  });

  test('getOption() returns the value that was set', async (context) => {
    const { a } = multi(context, provider, driver);
    expect(a.getOption('FI_OPT_MIN_MULTI_RECV')).toBe(MIN_SIZE);
  });
});

if (slow)
  test('200,000 untaken messages are more than a call has arguments, and go to the next receives', async (context) => {
    const { b } = multi(context, 'shm', 'manual');
    const count = 200_000;
    const stream = b.multiRecv(new Uint8Array(count * 8 + MIN_SIZE));
    const batch = b.batch();
    const self = b.av.insert(b.address);
    for (let i = 0; i < 500; i++) batch.send(new Uint8Array(8), self);
    for (let i = 0; i < count / 500; i++) batch.run();
    b.domain.progress();
    await b.domain.until(stream.return());
    const next = new Uint8Array(8).fill(1);
    await b.domain.until(b.recv(next));
    expect(next).toEqual(new Uint8Array(8));
  });
