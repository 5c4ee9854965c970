import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { pair, widestData } from '../support/transfer.js';

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  async function window(context: Parameters<typeof pair>[0]) {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_RMA'], driver);
    const region = await wire.b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const remote = wire.a.domain.remote(region.descriptor());
    const write = (data: bigint | number, offset = 0) =>
      wire.a.writedata(pattern(8, Number(BigInt(data) % 7n)), data, wire.toB, remote, { offset });
    return {
      ...wire,
      done: wire.done.bind(wire),
      fails: wire.fails.bind(wire),
      region,
      remote,
      write,
    };
  }

  test('arrived() resolves when the given number of writes with its value have arrived', async (context) => {
    const { b, write, region, done } = await window(context);
    let resolved = false;
    const arrived = b.receiveQueue.arrived(5n, 3).then(() => {
      resolved = true;
    });
    await done(Promise.all([write(5n), write(5, 8), write(6n, 100)]));
    await done(b.receiveQueue.arrived(6n));
    expect(resolved).toBe(false);
    await done(write(5n, 16));
    await done(arrived);
    for (const at of [0, 8, 16]) {
      expectBytes(region.bytes.subarray(at, at + 8), pattern(8, 5));
    }
  });

  test('arrived() counts earlier arrivals; the next call counts the remaining ones', async (context) => {
    const { a, b, write, done } = await window(context);
    const most = widestData(a);
    await done(Promise.all([1, 2, 3, 4, 5].map(() => write(most))));
    await done(b.receiveQueue.arrived(most, 2));
    await done(b.receiveQueue.arrived(most, 3));
    const next = b.receiveQueue.arrived(most, 1);
    await done(write(most));
    await done(next);
  });

  test('arrivals of an aborted wait count for the next wait', async (context) => {
    const { b, write, done, fails } = await window(context);
    const controller = new AbortController();
    const aborted = b.receiveQueue.arrived(1n, 3, { signal: controller.signal });
    await done(Promise.all([write(1n), write(1n), write(2n)]));
    await done(b.receiveQueue.arrived(2n));
    controller.abort(new Error('enough'));
    expect(await fails(aborted)).toHaveProperty('message', 'enough');
    await done(b.receiveQueue.arrived(1n, 2));
    const early = b.receiveQueue.arrived(1n, 1, { signal: AbortSignal.abort(new Error('early')) });
    await expect(early).rejects.toThrow('early');
  });

  test('a call may follow at once on an aborted one', async (context) => {
    const { b, write, done, fails } = await window(context);
    for (let i = 0; i < 20; i++) {
      const controller = new AbortController();
      const aborted = fails(b.receiveQueue.arrived(1n, 1, { signal: controller.signal }));
      controller.abort(new Error('enough'));
      const next = b.receiveQueue.arrived(1n);
      await done(write(1n));
      await done(next);
      expect(await aborted).toHaveProperty('message', 'enough');
    }
  });

  test('a value can have only one pending arrived()', async (context) => {
    const { b, write, done } = await window(context);
    const first = b.receiveQueue.arrived(1n);
    await expect(b.receiveQueue.arrived(1n)).rejects.toMatchObject({ code: 'ERR_INVALID_STATE' });
    await done(write(1n));
    await done(first);
  });

  test('immediates() yields all arrivals in order, including earlier ones', async (context) => {
    const { a, b, write, done } = await window(context);
    await done(write(7n));
    await done(write(8n));
    await done(b.receiveQueue.arrived(8n));
    const stream = b.receiveQueue.immediates();
    expect(await done(stream.next())).toMatchObject({ value: { data: 7n } });
    const next = stream.next();
    const most = widestData(a);
    for (const data of [0n, most - 1n, most]) await done(write(data));
    expect(await done(next)).toMatchObject({ done: false, value: { data: 0n } });
    expect(await done(stream.next())).toMatchObject({ value: { data: most - 1n } });
    expect(await done(stream.next())).toMatchObject({ value: { data: most } });
    const waiting = stream.next();
    await stream.return();
    expect((await done(waiting)).done).toBe(true);
    await done(write(9n));
    await done(b.receiveQueue.arrived(9n));
  });

  test('arrived() counts all writes with data of a batch', async (context) => {
    const { a, b, toB, remote, region, done } = await window(context);
    const source = pattern(4096);
    const batch = a.batch();
    for (let i = 0; i < 64; i++) {
      batch.writedata(source.subarray(i * 64, (i + 1) * 64), 77n, toB, remote, { offset: i * 64 });
    }
    const arrived = b.receiveQueue.arrived(77n, 128);
    await done(batch.submit());
    await done(batch.submit());
    await done(arrived);
    expectBytes(region.bytes, source);
    expect(b.domain.stats().immediates).toBe(128);
  });
});
