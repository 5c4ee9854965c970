import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { Guarded, pair } from '../support/transfer.js';

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  test('sendv and recvv accept up to iovLimit buffers', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    // Over shm, the engine needs one of them.
    const receiveLimit = b.info.rxAttr.iovLimit - (provider === 'shm' ? 1 : 0);
    for (let out = 1; out <= a.info.txAttr.iovLimit; out++) {
      const whole = pattern(960, out);
      const step = Math.floor(960 / out);
      const pieces = Array.from({ length: out }, (_, i) =>
        whole.slice(i * step, i === out - 1 ? 960 : (i + 1) * step),
      );
      const targets = Array.from({ length: receiveLimit }, () => new Guarded(320));
      const received = b.recvv(targets.map((target) => target.bytes));
      await wire.done(a.sendv(pieces, toB));
      expect((await wire.done(received)).length).toBe(960);
      const arrived = Buffer.concat(targets.map((target) => target.bytes));
      expectBytes(arrived.subarray(0, 960), whole);
      for (const target of targets) target.expectIntact();
    }
  });

  test('a short message fills the first buffers of a recvv', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const targets = [
      new Uint8Array(4).fill(9),
      new Uint8Array(4).fill(9),
      new Uint8Array(4).fill(9),
    ];
    const received = wire.b.recvv(targets);
    await wire.done(
      wire.a.sendv([Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3, 4, 5)], wire.toB),
    );
    expect((await wire.done(received)).length).toBe(5);
    expect(targets.map((target) => [...target])).toEqual([
      [1, 2, 3, 4],
      [5, 9, 9, 9],
      [9, 9, 9, 9],
    ]);
  });

  test('large buffers are sent as one message', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const pieces = [pattern(100_000, 1), pattern(1, 2), pattern(33_333, 3)];
    const targets = [new Uint8Array(5), new Uint8Array(133_329)];
    const received = wire.b.recvv(targets);
    await wire.done(wire.a.sendv(pieces, wire.toB));
    expect((await wire.done(received)).length).toBe(133_334);
    expectBytes(Buffer.concat(targets), Buffer.concat(pieces));
  });

  test('one buffer more than iovLimit is refused', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const tooMany = Array.from(
      { length: wire.a.info.txAttr.iovLimit + 1 },
      () => new Uint8Array(1),
    );
    const refusal = expect.objectContaining({ name: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
    await expect(wire.a.sendv(tooMany, wire.toB)).rejects.toEqual(refusal);
    await expect(wire.b.recvv(tooMany)).rejects.toEqual(refusal);
    if (provider === 'shm') await expect(wire.b.recvv(tooMany.slice(1))).rejects.toEqual(refusal);
  });
});
