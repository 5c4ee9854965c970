import { version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { fabricError, pair } from '../support/transfer.js';

const { major, minor } = version();
const NO_PEEK: Record<string, string> = { shm: 'the provider does not support FI_PEEK' };
const NO_CLAIM: Record<string, string> = {
  ...NO_PEEK,
  // In 1.17 it unlinks a claimed message again when the message is received.
  'udp;ofi_rxd': 'the provider crashes on claims while other messages wait',
};

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  // Repeats a peek until the message has arrived.
  async function untilFound<T>(
    wire: { done<V>(p: Promise<V>): Promise<V> },
    peek: () => Promise<T>,
  ) {
    for (;;) {
      try {
        return await wire.done(peek());
      } catch (error) {
        expect(error).toEqual(fabricError('FI_ENOMSG'));
      }
    }
  }

  test('a peek without a matching message fails with FI_ENOMSG', async (context) => {
    if (provider in NO_PEEK) context.skip(NO_PEEK[provider]);
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const flags = ['FI_PEEK'] as const;
    const error = await wire.fails(wire.b.trecv(null, null, 5n, 0n, { flags }));
    expect(error).toEqual(fabricError('FI_ENOMSG'));
  });

  test('a provider that would take the message refuses a peek', async (context) => {
    if (!(provider in NO_PEEK) || (major === 1 && minor > 18) || major > 1)
      context.skip('the provider can peek');
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    await wire.done(a.tsend(pattern(33), toB, 5n));
    const flags = ['FI_PEEK'] as const;
    const error = await wire.fails(b.trecv(null, null, 5n, 0n, { flags }));
    expect(error).toEqual(fabricError('FI_EOPNOTSUPP'));
    const into = new Uint8Array(33);
    await wire.done(b.trecv(into, null, 5n));
    expectBytes(into, pattern(33));
  });

  test('a peek reports a message without receiving it', async (context) => {
    if (provider in NO_PEEK) context.skip(NO_PEEK[provider]);
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const sent = a.tsend(pattern(33), toB, 5n);
    const peek = () => b.trecv(null, null, 4n, 1n, { flags: ['FI_PEEK'] });
    for (let i = 0; i < 3; i++) {
      expect(await untilFound(wire, peek)).toMatchObject({ tag: 5n, length: 33 });
    }
    const target = new Uint8Array(33);
    expect((await wire.done(b.trecv(target, null, 5n))).length).toBe(33);
    expectBytes(target, pattern(33));
    await wire.done(sent);
    expect(await wire.fails(peek())).toEqual(fabricError('FI_ENOMSG'));
  });

  test('only a receive with the claim gets a claimed message', async (context) => {
    if (provider in NO_CLAIM) context.skip(NO_CLAIM[provider]);
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const sends = [pattern(8, 1), pattern(8, 2)].map((bytes) => a.tsend(bytes, toB, 5n));
    const claim = await untilFound(wire, () =>
      b.trecv(null, null, 5n, 0n, { flags: ['FI_PEEK', 'FI_CLAIM'] }),
    );
    const [second, first] = [new Uint8Array(8), new Uint8Array(8)];
    await wire.done(b.trecv(second, null, 5n));
    await wire.done(b.trecv(first, null, 5n, 0n, { flags: ['FI_CLAIM'], claim }));
    expectBytes(second, pattern(8, 2));
    expectBytes(first, pattern(8, 1));
    await wire.done(Promise.all(sends));
    await expect(
      b.trecv(first, null, 5n, 0n, { flags: ['FI_CLAIM'], claim }),
    ).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG_TYPE',
    });
  });

  test('a message can be discarded, claimed or not', async (context) => {
    if (provider in NO_CLAIM) context.skip(NO_CLAIM[provider]);
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const sends = [1, 2, 3].map((i) => a.tsend(pattern(8, i), toB, 5n));
    const claim = await untilFound(wire, () =>
      b.trecv(null, null, 5n, 0n, { flags: ['FI_PEEK', 'FI_CLAIM'] }),
    );
    await wire.done(b.trecv(null, null, 5n, 0n, { flags: ['FI_CLAIM', 'FI_DISCARD'], claim }));
    await untilFound(wire, () => b.trecv(null, null, 5n, 0n, { flags: ['FI_PEEK', 'FI_DISCARD'] }));
    const target = new Uint8Array(8);
    await wire.done(b.trecv(target, null, 5n));
    expectBytes(target, pattern(8, 3));
    await wire.done(Promise.all(sends));
  });
});
