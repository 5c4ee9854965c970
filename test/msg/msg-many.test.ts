import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { pair } from '../support/transfer.js';

const COUNT = 1000;

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  test('1000 sends in flight arrive exactly once and in order', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const targets = Array.from({ length: COUNT }, () => new Uint32Array(4));
    const receives = targets.map((target) => b.recv(target));
    const sends = targets.map((_, i) => a.send(Uint32Array.of(i, ~i, i * 3, 7), toB));
    await wire.done(Promise.all(sends));
    await wire.done(Promise.all(receives));
    targets.forEach((target, i) => {
      expect([...target], `message ${i}`).toEqual([i, ~i >>> 0, i * 3, 7]);
    });
  });

  test('more sends than the queue holds wait for the receiver', async (context) => {
    if (provider === 'udp;ofi_rxd')
      context.skip('the provider drops and resends messages without a posted receive');
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const count = 3000;
    const seen: number[] = [];
    const sends = Promise.all(
      Array.from({ length: count }, (_, i) => a.send(Uint32Array.of(i), toB)),
    );
    const receive = async () => {
      while (seen.length < count) {
        const slots = Array.from({ length: 100 }, () => new Uint32Array(1));
        await Promise.all(slots.map((slot) => b.recv(slot)));
        seen.push(...slots.map((slot) => slot[0] as number));
      }
    };
    await wire.done(Promise.all([sends, receive()]));
    expect(seen).toEqual(Array.from({ length: count }, (_, i) => i));
  });

  test('unexpected messages are kept for later receives', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const sizes = [0, 1, 64, 4096, 20_000];
    const sends = Promise.all(sizes.map((size) => a.send(pattern(size), toB)));
    // The receives are posted after the sends.
    for (const size of sizes) {
      const target = new Uint8Array(size);
      expect((await wire.done(b.recv(target))).length).toBe(size);
      expectBytes(target, pattern(size));
    }
    await wire.done(sends);
  });
});
