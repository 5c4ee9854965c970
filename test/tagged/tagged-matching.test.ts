import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { expectData, pair, widestData } from '../support/transfer.js';

const ALL = 2n ** 64n - 1n;
// All bits of a tag. net of 1.17 reserves one (epAttr.memTagFormat).
const bitsOf = (provider: string) => (provider === 'net' ? ALL >> 1n : ALL);

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  test('a receive matches the message with its tag in any order', async (context) => {
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const most = bitsOf(provider);
    const tags = [0n, 1n, 2n ** 53n + 1n, (most >> 1n) + 1n, most];
    const targets = tags.map(() => new Uint8Array(100));
    const receives = tags.map((tag, i) => b.trecv(targets[i] as Uint8Array, null, tag));
    await wire.done(
      Promise.all(
        tags.toReversed().map((tag) => a.tsend(pattern(100, Number(tag % 99n)), toB, tag)),
      ),
    );
    const completions = await wire.done(Promise.all(receives));
    tags.forEach((tag, i) => {
      expect(completions[i]).toMatchObject({ tag, length: 100, data: undefined });
      expect(completions[i]?.flags).toEqual(expect.arrayContaining(['FI_RECV', 'FI_TAGGED']));
      expectBytes(targets[i] as Uint8Array, pattern(100, Number(tag % 99n)));
    });
  });

  test('bits in the ignore mask match any value', async (context) => {
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const one = b.trecv(new Uint8Array(1), null, 0xab00n, 0xffn);
    await wire.done(a.tsend(Uint8Array.of(1), toB, 0xab77n));
    expect((await wire.done(one)).tag).toBe(0xab77n);
    const any = b.trecv(new Uint8Array(1), null, 0, ALL);
    await wire.done(a.tsend(Uint8Array.of(1), toB, bitsOf(provider) - 5n));
    expect((await wire.done(any)).tag).toBe(bitsOf(provider) - 5n);
    const high = b.trecv(new Uint8Array(1), null, 0x1234_0000_0000_0000n, 0xffff_ffff_ffffn);
    const miss = b.trecv(new Uint8Array(1), null, 0x4321_0000_0000_0000n, 0xffff_ffff_ffffn);
    await wire.done(a.tsend(Uint8Array.of(1), toB, 0x4321_0000_0000_0009n));
    expect((await wire.done(miss)).tag).toBe(0x4321_0000_0000_0009n);
    await wire.done(a.tsend(Uint8Array.of(1), toB, 0x1234_ffff_ffff_ffffn));
    expect((await wire.done(high)).tag).toBe(0x1234_ffff_ffff_ffffn);
  });

  test('unexpected messages match by their tags', async (context) => {
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const sends = [5n, 6n, 5n].map((tag, i) => a.tsend(Uint8Array.of(i), toB, tag));
    const targets = [6n, 5n, 5n].map((tag) => ({ tag, bytes: new Uint8Array(1) }));
    for (const { tag, bytes } of targets) {
      expect((await wire.done(b.trecv(bytes, null, tag))).tag).toBe(tag);
    }
    expect(targets.map(({ bytes }) => bytes[0])).toEqual([1, 0, 2]);
    await wire.done(Promise.all(sends));
  });

  test('tsenddata, tinject and tinjectdata carry tag, data and bytes', async (context) => {
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const bytes = pattern(40);
    const injected = bytes.slice();
    const targets = [1, 2, 3].map(() => new Uint8Array(40));
    const receives = targets.map((target, i) => b.trecv(target, null, i));
    const most = widestData(a);
    const sends = [a.tsenddata(bytes, most, toB, 0), a.tinject(injected, toB, 1)];
    injected.set(bytes);
    sends.push(a.tinjectdata(injected, most - 1n, toB, 2));
    injected.fill(0);
    await wire.done(Promise.all(sends));
    const completions = await wire.done(Promise.all(receives));
    expect(completions.map(({ tag }) => tag)).toEqual([0n, 1n, 2n]);
    const [first, second, third] = completions.map(({ data }) => data);
    expectData(provider, first, most);
    expect(second).toBeUndefined();
    expectData(provider, third, most - 1n);
    for (const target of targets) expectBytes(target, bytes);
  });

  test('tsendv gathers and trecvv scatters', async (context) => {
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const pieces = [pattern(10, 1), pattern(20, 2), pattern(30, 3), pattern(40, 4)];
    const targets = [new Uint8Array(50), new Uint8Array(49), new Uint8Array(1)];
    const received = wire.b.trecvv(targets, null, 3n);
    await wire.done(wire.a.tsendv(pieces, wire.toB, 3n));
    expect((await wire.done(received)).length).toBe(100);
    expectBytes(Buffer.concat(targets), Buffer.concat(pieces));
  });

  test('tagged receives do not match untagged messages, nor the reverse', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const plain = new Uint8Array(1);
    const tagged = new Uint8Array(1);
    const receives = [b.recv(plain), b.trecv(tagged, null, 0, ALL)];
    await wire.done(
      Promise.all([a.tsend(Uint8Array.of(2), toB, 9), a.send(Uint8Array.of(1), toB)]),
    );
    await wire.done(Promise.all(receives));
    expect([plain[0], tagged[0]]).toEqual([1, 2]);
  });
});
