// writev and readv with several buffers, several remote segments, and remote data.
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { expectData, pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const ACCESS = ['FI_REMOTE_READ', 'FI_REMOTE_WRITE'] as const;

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  test('writev with data resolves arrived() at the peer when all buffers have arrived', async (context) => {
    const wire = await pair(context, provider, CAPS, driver);
    const { a, b, toB } = wire;
    const region = await b.domain.allocate(100, ACCESS);
    const remote = a.domain.remote(region.descriptor());
    const pieces = [pattern(30, 1), pattern(20, 2)];
    const arrived = b.receiveQueue.arrived(0xabcd);
    await wire.done(a.writev(pieces, toB, remote, { offset: 7, data: 0xabcd }));
    await wire.done(arrived);
    expectBytes(region.bytes.subarray(7, 57), Buffer.concat(pieces));
  });

  test('sendv and tsendv carry data as single calls, in a batch and in post', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const pieces = [Uint8Array.of(1, 2), Uint8Array.of(3)];
    const batch = a.batch();
    batch.sendv(pieces, toB, { data: 5 });
    const sends = [
      () => wire.done(a.sendv(pieces, toB, { data: 5 })),
      () => (driver === 'manual' ? wire.done(batch.submit()) : batch.submit()),
      async () => a.post.sendv(pieces, toB, { data: 5 }),
    ];
    for (const send of sends) {
      const received = b.recv(new Uint8Array(8));
      await send();
      const completion = await wire.done(received);
      expect(completion.length).toBe(3);
      expectData(provider, completion.data, 5n);
    }
    const received = b.trecv(new Uint8Array(8), null, 9n);
    await wire.done(a.tsendv(pieces, toB, 9n, { data: 6 }));
    expectData(provider, (await wire.done(received)).data, 6n);
  });

  test('writev and readv accept up to rmaIovLimit remote segments', async (context) => {
    const wire = await pair(context, provider, CAPS, driver);
    const { a, b, toB } = wire;
    const [one, two] = [
      await b.domain.allocate(5000, ACCESS),
      await b.domain.allocate(5000, ACCESS),
    ];
    const remotes = [one, two].map((region) => a.domain.remote(region.descriptor()));
    const [first, second] = remotes as [(typeof remotes)[0], (typeof remotes)[0]];
    const limit = a.info.txAttr.rmaIovLimit;
    const pieces = [
      { remote: first, offset: 4000, length: 900 },
      { remote: second, length: 100 },
      { remote: first, offset: 10, length: 1 },
      { remote: second, offset: 3999 },
    ].slice(0, limit);
    const length = [900, 100, 1, 1001].slice(0, limit).reduce((sum, each) => sum + each);
    const buffers = [pattern(300, 3), pattern(length - 300, 4)];
    const whole = Buffer.concat(buffers);

    await wire.done(a.writev(buffers, toB, pieces));
    const back = [new Uint8Array(length - 1), new Uint8Array(1)];
    await wire.done(a.readv(back, toB, pieces));
    expectBytes(Buffer.concat(back), whole);
    expectBytes(one.bytes.subarray(4000, 4900), whole.subarray(0, 900));
    if (limit < 4) return;
    expectBytes(two.bytes.subarray(0, 100), whole.subarray(900, 1000));
    expect(one.bytes[10]).toBe(whole[1000]);
    expectBytes(two.bytes.subarray(3999), whole.subarray(1001));
  });

  test('a batch and post transfer several remote segments', async (context) => {
    const wire = await pair(context, provider, CAPS, driver);
    const { a, b, toB } = wire;
    if (a.info.txAttr.rmaIovLimit < 2)
      context.skip(`${provider} allows one remote segment per operation`);
    const region = await b.domain.allocate(64, ACCESS);
    const remote = a.domain.remote(region.descriptor());
    const pieces = [
      { remote, offset: 32, length: 4 },
      { remote, offset: 0, length: 4 },
    ];
    const buffer = new Uint8Array(8);
    const batch = a.batch();
    batch.writev([buffer], toB, pieces);
    for (let round = 1; round <= 3; round++) {
      buffer.set([0, 1, 2, 3, 4, 5, 6, 7].map((byte) => byte + round * 10));
      await wire.done(batch.submit());
      const back = [new Uint8Array(3), new Uint8Array(5)];
      await wire.done(a.readv(back, toB, pieces));
      expectBytes(Buffer.concat(back), buffer);
    }
    a.post.readv([buffer.fill(0)], toB, pieces, { context: 'read' });
    for (let entries = a.sendQueue.read(); ; entries = a.sendQueue.read()) {
      if (driver === 'manual') b.domain.progress();
      if (entries.length > 0) break;
      await new Promise(setImmediate);
    }
    expect([...buffer]).toEqual([30, 31, 32, 33, 34, 35, 36, 37]);
  });

  test('invalid remote segments are refused', async (context) => {
    const { a, b, toB } = await pair(context, provider, CAPS, driver);
    const region = await b.domain.allocate(64, ACCESS);
    const remote = a.domain.remote(region.descriptor());
    const buffer = [new Uint8Array(8)];
    const range = expect.objectContaining({ name: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
    const tooMany = Array.from({ length: a.info.txAttr.rmaIovLimit + 1 }, () => ({ remote }));
    await expect(a.writev(buffer, toB, tooMany)).rejects.toEqual(range);
    await expect(a.writev(buffer, toB, [])).rejects.toEqual(range);
    await expect(a.writev(buffer, toB, [{ remote, length: 7 }])).rejects.toEqual(range);
    await expect(a.readv(buffer, toB, [{ remote, offset: 60, length: 8 }])).rejects.toEqual(range);
    await expect(a.readv(buffer, toB, [{ remote, offset: 60 }])).rejects.toEqual(range);
    await expect(a.readv(buffer, toB, [{ remote, offset: 65 }])).rejects.toEqual(range);
    await expect(a.readv(buffer, toB, [{ remote, length: 8 }], { offset: 1 })).rejects.toThrow(
      'options.offset is for a single region',
    );
    await expect(a.readv(buffer, toB, [{ remote: {} as never }])).rejects.toThrow(TypeError);
    await expect(a.writev(buffer, toB, [null as never])).rejects.toThrow(TypeError);
    await expect(a.writev(buffer, toB, remote, { data: -1 })).rejects.toEqual(range);
    remote.close();
    const closed = expect.objectContaining({ code: 'ERR_CLOSED' });
    await expect(a.writev(buffer, toB, [{ remote, length: 8 }])).rejects.toEqual(closed);
  });
});
