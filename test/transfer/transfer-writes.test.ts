import '../support/softefa.js';
import { describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';

const KIB = 1024;
const SIZES = [1, 100, 4096, 128 * KIB, 128 * KIB + 1, 1 << 20, (8 << 20) + 12_345];

const all = [
  ['shm', 1],
  ['shm', 3],
  ['tcp', 2],
  ['efa', 1],
] as const;
const some = casesOf(all, ([provider, nics]) => provider !== 'shm' || nics > 1);

describe.each(some)('%s, %i rails', (provider, nics) => {
  test('a write of every size arrives once, whole, and only in its place', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    for (const size of SIZES) {
      const from = await a.register(pattern(size, size));
      const into = await b.register(new Uint8Array(size + 200));
      const offer = await into.slice(100, 100 + size).offer({ access: 'write', to: toA });
      let arrivals = 0;
      offer.arrived.then(() => arrivals++);
      const report = await toB.write(from, offer.token);
      const { bytes, length, notification } = await offer.arrived;
      expect(same(bytes, from.bytes), `${size} bytes`).toBe(true);
      expect(length).toBe(size);
      expect(notification).toBeUndefined();
      expect(report.byteLength).toBe(size);
      expect(report.rails.length).toBe(nics);
      await offer.released;
      expect(arrivals).toBe(1);
      expect(into.bytes.subarray(0, 100).every((byte) => byte === 0)).toBe(true);
      expect(into.bytes.subarray(100 + size).every((byte) => byte === 0)).toBe(true);
      await Promise.all([from.close(), into.close()]);
    }
  });

  test('a read of every size gets all bytes', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    for (const size of SIZES) {
      const source = await b.register(pattern(size, size + 1));
      const into = await a.register(new Uint8Array(size));
      const offer = await source.offer({ access: 'read', to: toA });
      await toB.read(offer.token, into);
      expect(same(into.bytes, source.bytes), `${size} bytes`).toBe(true);
      await offer.released;
      await Promise.all([source.close(), into.close()]);
    }
  });

  test('pages go to other pages, in the order of both lists', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    const size = 12_288;
    const count = 64;
    const from = await a.register(pattern(size * count, 3));
    const into = await b.register(new Uint8Array(size * count));
    const indices = Array.from({ length: 20 }, (_, i) => (i * 7) % count);
    const targets = Array.from({ length: 20 }, (_, i) => (i * 11 + 5) % count);
    const offer = await into.pages({ indices: targets, size }).offer({ access: 'write', to: toA });
    await toB.write(from.pages({ indices, size }), offer.token);
    await offer.arrived;
    for (const [i, target] of targets.entries()) {
      const source = (indices[i] as number) * size;
      const expected = from.bytes.subarray(source, source + size);
      expect(same(into.bytes.subarray(target * size, (target + 1) * size), expected)).toBe(true);
    }
    await offer.released;
  });

  test('pages fill contiguous memory, with slices of their own plan', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    const size = 20_000;
    const from = await a.register(pattern(size * 100, 4));
    const indices = Array.from({ length: 50 }, (_, i) => 99 - 2 * i);
    const into = await b.register(new Uint8Array(size * indices.length));
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(from.pages({ indices, size }), offer.token);
    const { bytes } = await offer.arrived;
    for (const [i, index] of indices.entries()) {
      const expected = from.bytes.subarray(index * size, (index + 1) * size);
      expect(same(bytes.subarray(i * size, (i + 1) * size), expected)).toBe(true);
    }
  });

  test('pages of other sizes on each side keep their order, whatever the slices', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics, slice: 8192, stripe: 4096 });
    const bytes = 120_000;
    for (const [ours, theirs] of [
      [3000, 5000],
      [5000, 3000],
      [500, 12_000],
      [12_000, 400],
    ] as const) {
      // Each second page, from the last to the first.
      const pagesOf = (size: number) => ({
        indices: Array.from({ length: bytes / size }, (_, i) => 2 * (bytes / size - 1 - i)),
        size,
      });
      const from = await a.register(pattern(2 * bytes, ours));
      const into = await b.register(new Uint8Array(2 * bytes));
      const [sent, got] = [pagesOf(ours), pagesOf(theirs)];
      const offer = await into.pages(got).offer({ access: 'write', to: toA, slices: 1000 });
      await toB.write(from.pages(sent), offer.token);
      await offer.arrived;
      const inOrder = (memory: typeof from, { indices, size }: typeof sent) =>
        Buffer.concat(indices.map((i) => memory.bytes.subarray(i * size, (i + 1) * size)));
      expect(same(inOrder(into, got), inOrder(from, sent)), `${ours} to ${theirs}`).toBe(true);
      const between = into.bytes.filter((_, i) => Math.floor(i / theirs) % 2 === 1);
      expect(between.every((byte) => byte === 0)).toBe(true);
      await offer.released;
      await Promise.all([from.close(), into.close()]);
    }
  });

  test('pages take as many slices as the provider needs, and the token knows how many', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    const pages = { indices: Array.from({ length: 40 }, (_, i) => 2 * i), size: 8192 };
    const from = await a.register(pattern(80 * 8192, 9));
    const into = await b.register(new Uint8Array(80 * 8192));
    // The offer has no numbers for a plan of the sender.
    const offer = await into.pages(pages).offer({ access: 'write', to: toA, slices: 1 });
    const { slices } = await toB.write(from.pages(pages), offer.token);
    // shm and tcp take four pieces of memory of a peer in one write, efa takes one.
    expect(slices).toBe(provider === 'efa' ? 40 : 10);
    await offer.arrived;
  });

  test('a notification and the length of a shorter transfer come with the arrival', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    const from = await a.register(pattern(300_000, 5));
    const into = await b.register(new Uint8Array(1 << 20));
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(from, offer.token, { notification: Buffer.from('etag 7') });
    const { bytes, length, notification } = await offer.arrived;
    expect(length).toBe(300_000);
    expect(same(bytes, from.bytes)).toBe(true);
    expect(String(notification)).toBe('etag 7');
  });

  test('an empty notification arrives as 0 bytes', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    const from = await a.allocate(4096);
    const into = await b.allocate(4096);
    const offer = await into.offer({ access: 'write', to: toA, repeat: true });
    const arrivals = offer[Symbol.asyncIterator]();
    for (const notification of [new Uint8Array(), undefined]) {
      const offered = await into.offer({ access: 'write', to: toA });
      await toB.write(from, offered.token, notification && { notification });
      expect((await offered.arrived).notification?.length).toBe(notification?.length);
    }
    const transfer = toB.write(from, offer.token, { notification: new Uint8Array() });
    await transfer;
    expect((await arrivals.next()).value.notification.length).toBe(0);
    await transfer.repeat();
    expect((await arrivals.next()).value.notification.length).toBe(0);
  });

  test('100 transfers at once go to their own memory', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics, maxTransfers: 16 });
    const size = 40_000;
    const from = await a.register(pattern(size * 100, 6));
    const into = await b.register(new Uint8Array(size * 100));
    const offers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        into.slice((99 - i) * size, (100 - i) * size).offer({ access: 'write', to: toA }),
      ),
    );
    await Promise.all(
      offers.map((offer, i) =>
        toB.write(from.slice(i * size, (i + 1) * size), offer.token, {
          priority: (['high', 'normal', 'low'] as const)[i % 3] as 'high',
        }),
      ),
    );
    await Promise.all(offers.map(({ arrived }) => arrived));
    for (let i = 0; i < 100; i++) {
      const got = into.bytes.subarray((99 - i) * size, (100 - i) * size);
      expect(same(got, from.bytes.subarray(i * size, (i + 1) * size)), `transfer ${i}`).toBe(true);
    }
    await Promise.all(offers.map(({ released }) => released));
  });

  test('notes arrive once, with their sender', async () => {
    const { b, toA, toB } = await enginePair({ provider, nics });
    const sent = Array.from({ length: 200 }, (_, i) => `notification ${i}`);
    const got: string[] = [];
    const reading = (async () => {
      for await (const { bytes, from } of b.notifications()) {
        expect(from).toBe(toA);
        if (got.push(String(bytes)) === sent.length) break;
      }
    })();
    await Promise.all(sent.map((text) => toB.notify(Buffer.from(text))));
    await reading;
    expect(got.sort()).toEqual(sent.sort());
  });
});
