// Messages that are longer than their receives. Over 4 KiB, shm loops or waits forever unless the receive has room for them.
import { describe, expect, type TestContext, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { runInline } from '../support/command.js';
import { settle } from '../support/settle.js';
import { endpoint, fabricError, Guarded, pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_SOURCE'] as const;
const SIZE = 64;
const LONG = [65, 4096, 4097, 100_000];

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  // Both stream providers of 1.17 drop the connection with the message.
  const dropsConnection = provider === 'tcp;ofi_rxm' || provider === 'net';

  async function setup(context: TestContext) {
    if (provider === 'udp;ofi_rxd') context.skip('the provider does not report truncation');
    const wire = await pair(context, provider, CAPS, driver);
    const { a, b, toA, toB } = wire;
    const other = await endpoint(context, provider, CAPS, driver);
    const fromOther = other.av.insert(b.address);
    b.av.insert(other.address);
    return {
      wire,
      a,
      b,
      toA,
      toB,
      send: (length: number, seed?: number) => wire.done(a.send(pattern(length, seed), toB)),
      /** Sends from an endpoint whose connection is not dropped. */
      sendOther: (length: number, seed: number) =>
        settle(other.send(pattern(length, seed), fromOther), other.domain, b.domain),
    };
  }

  const failureOf = (length: number, from: unknown) => {
    const reports = ['shm', 'efa', 'sockets'].includes(provider);
    const error = fabricError('FI_ETRUNC') as { sample: object };
    return expect.objectContaining({
      message: expect.not.stringContaining('Success'),
      ...error.sample,
      ...(reports && { len: SIZE, olen: length - SIZE }),
      ...(provider === 'shm' && { peer: from }),
    });
  };

  test.for(['before', 'after'])(
    'a receive posted %s a longer message fails with FI_ETRUNC, and the next one gets the next message',
    async (when, context) => {
      const { wire, b, toA, send, sendOther } = await setup(context);
      const target = new Guarded(SIZE);
      for (const length of dropsConnection ? [100] : LONG) {
        const { operations } = b.domain.stats();
        const early = when === 'before' ? wire.fails(b.recv(target.bytes)) : undefined;
        if (early !== undefined) await wire.postedByB(operations + 1);
        const sent = send(length);
        expect(await (early ?? wire.fails(b.recv(target.bytes)))).toEqual(failureOf(length, toA));
        await sent;
        target.expectIntact();
        const next = b.recv(target.bytes);
        await sendOther(SIZE, length);
        expect((await wire.done(next)).length).toBe(SIZE);
        expectBytes(target.bytes, pattern(SIZE, length));
      }
    },
  );

  test('a tagged receive of a longer message fails with FI_ETRUNC, and close() does not wait', async (context) => {
    const { wire, a, b, toA, toB } = await setup(context);
    for (const length of dropsConnection ? [100] : LONG) {
      const failure = wire.fails(b.trecv(new Uint8Array(SIZE), null, 7n));
      await wire.done(a.tsend(pattern(length), toB, 7n));
      expect(await failure).toEqual(failureOf(length, toA));
    }
    await wire.done(b.close());
  });

  test('a batch of receives fails with the first message that is longer, each time', async (context) => {
    if (dropsConnection) context.skip('the provider drops the connection');
    const { wire, b, toA, send } = await setup(context);
    const batch = b.batch();
    const buffers = Array.from({ length: 4 }, () => new Guarded(SIZE));
    for (const { bytes } of buffers) batch.recv(bytes);
    for (let round = 1; round <= 3; round++) {
      const submitted = wire.fails(batch.submit());
      for (const length of [SIZE, 10, 5000, SIZE]) await send(length, round);
      const failure = await submitted;
      expect(failure).toEqual(failureOf(5000, toA));
      expect(failure).toHaveProperty('index', 2);
      expectBytes(buffers[3]?.bytes as Uint8Array, pattern(SIZE, round));
      for (const buffer of buffers) buffer.expectIntact();
    }
  });

  test('messages() rejects at a longer message, and the next stream gets the messages after it', async (context) => {
    if (dropsConnection) context.skip('the provider drops the connection');
    const { wire, b, toA, send } = await setup(context);
    const stream = b.messages({ count: 4, size: SIZE });
    for (const [i, length] of [SIZE, 5000, SIZE, 10].entries()) await send(length, i);
    expectBytes((await wire.done(stream.next())).value.bytes, pattern(SIZE, 0));
    expect(await wire.fails(stream.next())).toEqual(failureOf(5000, toA));
    expect((await wire.done(stream.next())).done).toBe(true);
    const rest = b.messages({ count: 4, size: SIZE });
    expectBytes((await wire.done(rest.next())).value.bytes, pattern(SIZE, 2));
    expectBytes((await wire.done(rest.next())).value.bytes, pattern(10, 3));
    await wire.done(rest.return());
  });

  test('messages() that skips longer messages yields those of others, and readErrors() has the errors', async (context) => {
    const { wire, b, toA, send, sendOther } = await setup(context);
    const stream = b.messages({ count: 2, size: SIZE, onTruncated: 'skip' });
    const lengths = dropsConnection ? [100] : LONG;
    for (const [i, length] of lengths.entries()) {
      const message = stream.next();
      await send(length);
      await sendOther(SIZE, i);
      expectBytes((await wire.done(message)).value.bytes, pattern(SIZE, i));
    }
    while (b.domain.stats().errors < lengths.length) await wire.done(new Promise(setImmediate));
    await wire.done(stream.return());
    const errors = b.receiveQueue.readErrors().filter(({ code }) => code === 'FI_ETRUNC');
    expect(errors).toEqual(lengths.map((length) => failureOf(length, toA)));
  });
});

describe('shm without process_vm_readv(2)', () => {
  test.each(LONG)('a message of %i bytes is truncated, and the next one arrives', (length) => {
    const program = `
      import { open } from 'libfabric';
      const options = { provider: 'shm', caps: ['FI_MSG'] };
      const [a, b] = [await open(options), await open(options)];
      const peer = a.av.insert(b.address);
      const received = b.recv(new Uint8Array(${SIZE})).catch(({ len, olen }) => len + olen);
      await a.send(new Uint8Array(${length}), peer);
      const next = b.recv(new Uint8Array(${SIZE}));
      await a.send(new Uint8Array(7), peer);
      console.log(await received, (await next).length);
      await Promise.all([a.close(), b.close()]);`;
    const outcome = runInline(program, { ...process.env, FI_SHM_DISABLE_CMA: '1' });
    expect(outcome).toMatchObject({ status: 0, stdout: `${length} 7\n` });
  });
});
