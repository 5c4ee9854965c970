// Peers that are forgotten while operations are in flight, that are opened again, and that share an address.
import '../support/softefa.js';
import { describe, expect, test } from 'vitest';
import { decodeAddress, encodeAddress } from '../../dist/transfer/address.js';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { enginePair, MAPPED_OR_NOT } from '../support/engines.js';

const SIZE = 16 << 20;

const some = casesOf(MAPPED_OR_NOT, ([provider, mapped]) => mapped === (provider === 'shm'));

describe.each(some)('%s, memory mapped: %s', (provider, mapMemory) => {
  const setUp = async () => {
    const pair = await enginePair({ provider, nics: 1, mapMemory });
    const { a, b, toA } = pair;
    const from = await a.allocate(SIZE);
    const into = await b.allocate(SIZE);
    from.bytes.set(pattern(SIZE));
    const token = async () => (await into.offer({ access: 'write', to: toA })).token;
    return { ...pair, from, into, token };
  };

  test('close() of a peer waits for the transfers and messages in flight, and refuses new ones', async () => {
    const { b, toB, from, into, token } = await setUp();
    const [first, second] = [await token(), await token()];
    const transfer = toB.write(from, first);
    const sent = toB.notify(pattern(8));
    const ends: string[] = [];
    const closing = toB.close().then(() => ends.push('closed'));
    expect(() => toB.write(from, second)).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
    await expect(toB.notify(pattern(8))).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    transfer.released.then(() => ends.push('released'));
    expect((await transfer).byteLength).toBe(SIZE);
    await Promise.all([sent, closing]);
    expect(ends).toEqual(['released', 'closed']);
    expect(same(into.bytes, pattern(SIZE))).toBe(true);
    expect((await b.notifications().next()).value?.bytes).toEqual(Buffer.from(pattern(8)));
  });

  test('a peer that is known again while it is being forgotten works, and may be forgotten again', async () => {
    const { a, b, toB, from, token } = await setUp();
    for (let forgotten = toB, i = 0; i < 5; i++) {
      const transfer = forgotten.write(from, await token());
      const closing = forgotten.close();
      const known = await a.peer(b.address);
      expect(known).not.toBe(forgotten);
      const again = known.write(from, await token());
      await Promise.all([transfer, closing, again, known.notify(pattern(8))]);
      await known.write(from, await token());
      expect(await a.peer(b.address)).toBe(known);
      forgotten = known;
    }
  });

  test('a dead engine may be forgotten when a living one has its address', async () => {
    const { a, b, toB, from, token } = await setUp();
    // As if the peer had restarted: the address stays, the identity is new.
    const dead = await a.peer(encodeAddress({ ...decodeAddress(b.address, ''), id: 5n }, ''));
    await dead.close();
    await toB.notify(pattern(8));
    expect((await toB.write(from, await token())).byteLength).toBe(SIZE);
    const another = await a.peer(encodeAddress({ ...decodeAddress(b.address, ''), id: 6n }, ''));
    await toB.close();
    expect(another.closed).toBe(false);
    await another.close();
  });
});
