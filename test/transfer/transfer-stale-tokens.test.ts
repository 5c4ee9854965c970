import '../support/softefa.js';
import { describe, expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';

const SIZE = 1 << 20;
const STALE = { code: 'FI_EKEYREJECTED', ambiguous: false };

const all = [
  ['tcp', true],
  ['tcp', false],
  ['shm', true],
  ['shm', false],
  ['efa', true],
  ['efa', false],
] as const;
const some = casesOf(all, ([provider, mapped]) => mapped === (provider === 'shm'));

describe.each(some)('%s, memory mapped: %s', (provider, mapMemory) => {
  const setUp = async () => {
    const pair = await enginePair({ provider, nics: 1, mapMemory });
    const from = await pair.a.allocate(SIZE);
    const into = await pair.b.allocate(SIZE);
    from.bytes.set(pattern(SIZE));
    return { ...pair, from, into };
  };
  // A NIC that checks keys may refuse a closed offer before the peer's message reports its end.
  const CLOSED = provider === 'efa' && !mapMemory ? { name: 'FabricError' } : STALE;
  const untouched = ({ bytes }: { bytes: Uint8Array }) => bytes.every((byte) => byte === 0);

  test('a token that was used is refused, and the memory stays as it is', async () => {
    const { toA, toB, from, into } = await setUp();
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(from, offer.token);
    await offer.released;
    into.bytes.fill(0);
    await expect(toB.write(from, offer.token)).rejects.toMatchObject(STALE);
    expect(untouched(into)).toBe(true);
  });

  test('of two transfers with one token, one is refused', async () => {
    const { toA, toB, from, into } = await setUp();
    const offer = await into.offer({ access: 'read', to: toA });
    const [first, second] = [toB.read(offer.token, from), toB.read(offer.token, from)];
    await expect(second).rejects.toMatchObject(STALE);
    expect((await first).byteLength).toBe(SIZE);
  });

  test('the token of an offer that was closed is refused, also if the offer may be repeated', async () => {
    const { toA, toB, from, into } = await setUp();
    for (const repeat of [false, true]) {
      const offer = await into.offer({ access: 'write', to: toA, repeat });
      await offer.close();
      await expect(toB.write(from, offer.token)).rejects.toMatchObject(CLOSED);
      expect(untouched(into)).toBe(true);
    }
  });

  test('a transfer does not start again after its offer was closed', async () => {
    const { toA, toB, from, into } = await setUp();
    const offer = await into.offer({ access: 'write', to: toA, repeat: true });
    const transfer = toB.write(from, offer.token);
    await Promise.all([transfer, offer.arrived]);
    await offer.close();
    into.bytes.fill(0);
    await expect(transfer.repeat()).rejects.toMatchObject(CLOSED);
    expect(untouched(into)).toBe(true);
  });

  test('offers that end in any order leave the others open', async () => {
    const { toA, toB, from, into } = await setUp();
    const open = () => into.slice(0, 4096).offer({ access: 'write', to: toA });
    const offers = await Promise.all(Array.from({ length: 20 }, open));
    const order = offers.map((_, i) => offers[(i * 7) % 20]);
    for (const [i, offer] of order.entries()) {
      if (i % 3 === 0) await offer?.close();
      else await toB.write(from.slice(0, 4096), String(offer?.token));
    }
    for (const { token } of offers) {
      await expect(toB.write(from.slice(0, 4096), token)).rejects.toMatchObject(CLOSED);
    }
  });

  test('a peer that is known again after close() is not mapped, and its keys refuse old tokens', async (context) => {
    if (provider === 'shm') context.skip('shm (1.17) does not check keys');
    const { a, b, toA, toB, from, into } = await setUp();
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(from, offer.token);
    await offer.released;
    into.bytes.fill(0);
    await toB.close();
    const again = await a.peer(b.address);
    expect(again.maps).toBe(false);
    const late = again.write(from, offer.token, { timeout: 500 });
    await expect(late).rejects.toMatchObject({ ambiguous: true });
    expect(untouched(into)).toBe(true);
  });
});
