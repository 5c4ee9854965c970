// Regions that close while operations that use them wait for room.
import { describe, expect, test } from 'vitest';
import '../support/efa-defaults.js';
import { onCommon } from '../support/cases.js';
import { tally, until } from '../support/lifecycle.js';
import { settle } from '../support/settle.js';
import { closing, endpoint, type pair } from '../support/transfer.js';

const COUNT = 3000;
const SIZE = 16;

describe.each(onCommon)('%s, %s driver', (provider, driver) => {
  async function setup(context: Parameters<typeof pair>[0]) {
    const a = await endpoint(context, provider, ['FI_MSG'], driver);
    const b = await endpoint(context, provider, ['FI_MSG'], 'manual');
    const peer = a.av.insert(b.address);
    b.av.insert(a.address);
    const region = await a.domain.allocate(COUNT * SIZE, ['FI_SEND', 'FI_RECV']);
    region.bytes.fill(7);
    const slices = Array.from({ length: COUNT }, (_, i) => region.slice(i * SIZE, (i + 1) * SIZE));
    /** Waits until operations wait, closes the region, and receives what was sent. */
    const finish = async (sent: Promise<unknown>) => {
      await settle(
        until(() => a.domain.stats().backPressure > 0),
        a.domain,
      );
      const closed = region.close();
      const into = slices.map(() => new Uint8Array(SIZE));
      const received = tally(into.map((bytes) => b.recv(bytes)));
      const all = Promise.all([sent, received, closed]);
      const [ends, got] = await settle(all, a.domain, b.domain);
      expect(got).toEqual({ ok: COUNT });
      expect(into.every((bytes) => bytes.every((byte) => byte === 7))).toBe(true);
      return ends;
    };
    return { a: closing(a), b, peer, region, slices, finish };
  }

  test('close() waits for sends that wait for room', async (context) => {
    const { a, peer, slices, finish } = await setup(context);
    const sends = slices.map((slice) => a.send(slice, peer));
    expect(await finish(tally(sends))).toEqual({ ok: COUNT });
  });

  test('close() waits for a batch that waits for room', async (context) => {
    const { a, peer, slices, finish } = await setup(context);
    const batch = a.batch();
    for (const slice of slices) batch.sendv([slice.slice(0, 8), slice.slice(8)], peer);
    expect(await finish(batch.submit())).toBeUndefined();
    await expect(settle(batch.submit(), a.domain)).rejects.toMatchObject({
      code: 'FI_EFAULT',
    });
  });
});
