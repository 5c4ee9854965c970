import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { settle } from '../support/settle.js';
import { endpoint, expectData, pair, widestData } from '../support/transfer.js';

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  test('senddata carries every value of cqDataSize bytes', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const most = widestData(a);
    for (const data of [0, 0n, 1, 0xdead_beefn, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n, most]) {
      if (BigInt(data) > most) continue;
      const target = new Uint8Array(16);
      const received = b.recv(target);
      await wire.done(a.senddata(pattern(16), data, toB));
      const completion = await wire.done(received);
      expectData(provider, completion.data, BigInt(data));
      expectBytes(target, pattern(16));
    }
  });

  test('injectdata carries data with an empty message', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const received = wire.b.recv(new Uint8Array(8));
    const most = widestData(wire.a);
    await wire.done(wire.a.injectdata(new Uint8Array(0), most, wire.toB));
    const completion = await wire.done(received);
    expect(completion.length).toBe(0);
    expectData(provider, completion.data, most);
  });

  test('an injected buffer may be overwritten as soon as the call has returned', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const size = Math.min(a.info.txAttr.injectSize, 4096);
    const buffer = new Uint8Array(size);
    const targets = Array.from({ length: 20 }, () => new Uint8Array(size));
    const receives = targets.map((target) => b.recv(target));
    const sends = targets.map((_, i) => {
      buffer.set(pattern(size, i));
      const sent = a.inject(buffer, toB);
      buffer.fill(0xff);
      return sent;
    });
    await wire.done(Promise.all([...sends, ...receives]));
    targets.forEach((target, i) => {
      expectBytes(target, pattern(size, i));
    });
  });

  test('with FI_SOURCE, a completion has the peer that sent the message', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_SOURCE'], driver);
    const { a, b, toA, toB } = wire;
    const c = await endpoint(context, provider, ['FI_MSG', 'FI_SOURCE'], driver);
    const cToB = c.av.insert(b.address);
    const first = b.recv(new Uint8Array(4));
    await wire.done(a.send(pattern(4), toB));
    expect((await wire.done(first)).source).toBe(toA);
    const known = b.av.insert(c.address);
    const second = b.recv(new Uint8Array(4));
    await settle(c.send(pattern(4), cToB), b.domain, c.domain);
    // rxd of 1.17 offers FI_SOURCE, and always reports the first peer of the vector.
    const expected = provider === 'udp;ofi_rxd' ? toA : known;
    expect((await settle(second, b.domain, c.domain)).source).toBe(expected);
  });

  test('a directed receive only matches messages of its peer', async (context) => {
    if (provider === 'net') context.skip('net offers FI_DIRECTED_RECV and ignores it');
    const caps = ['FI_MSG', 'FI_DIRECTED_RECV'] as const;
    const wire = await pair(context, provider, caps, driver);
    const { a, b, toA, toB } = wire;
    const c = await endpoint(context, provider, caps, driver);
    const fromC = b.av.insert(c.address);
    const all = [a, b, c].map(({ domain }) => domain);
    const [ofA, ofC] = [new Uint8Array(1), new Uint8Array(1)];
    const directed = [b.recv(ofC, fromC), b.recv(ofA, toA)];
    await settle(a.send(Uint8Array.of(0xaa), toB), ...all);
    await settle(c.send(Uint8Array.of(0xcc), c.av.insert(b.address)), ...all);
    await settle(Promise.all(directed), ...all);
    expect([ofA[0], ofC[0]]).toEqual([0xaa, 0xcc]);
  });
});
