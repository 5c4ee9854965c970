// The promises of transfer engines (docs/promises.md), without faults: in bursts of each size, twice at once, left in the
// middle, and repeatedly. Messages of engines are in test/transfer/transfer-messages.test.ts.
import '../support/softefa.js';
import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { slow } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { tally } from '../support/lifecycle.js';

// efa registers memory for each offer, and the device has room for so many registrations.
const countsOf = (provider: string) => [
  10,
  1000,
  ...(slow ? [provider === 'efa' ? 10_000 : 100_000] : []),
];
const ROUNDS = slow ? 20 : 5;
const SIZE = 64;

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const byteOf = (i: number) => 1 + (i % 250);

describe.each([
  ['tcp', 1],
  ['shm', 1],
  ['efa', 1],
  ['efa', 2],
] as const)('%s, %i rails', (provider, nics) => {
  const setUp = async (count: number) => {
    const engines = await enginePair({ provider, nics });
    const [ours, theirs] = [
      await engines.a.allocate(SIZE * count),
      await engines.b.allocate(SIZE * count),
    ];
    const partOf = (memory: typeof ours, i: number) => memory.slice(i * SIZE, (i + 1) * SIZE);
    return { ...engines, ours, theirs, partOf };
  };

  test.each(countsOf(provider))(
    '%i transfers at once arrive, each once and whole, and both sides are released',
    async (count) => {
      const { a, b, toA, toB, ours, theirs, partOf } = await setUp(count);
      const offers = await Promise.all(
        upTo(count).map((i) => {
          ours.bytes.fill(byteOf(i), i * SIZE, (i + 1) * SIZE);
          return partOf(theirs, i).offer({ access: 'write', to: toA, expires: 300_000 });
        }),
      );
      const transfers = offers.map(({ token }, i) => toB.write(partOf(ours, i), token));
      // This memory is free again, one by one.
      const reused = transfers.map(async ({ released }, i) => {
        await released;
        ours.bytes.fill(0, i * SIZE, (i + 1) * SIZE);
      });
      const arrivals = await Promise.all(offers.map(({ arrived }) => arrived));
      expect(arrivals.every(({ length }) => length === SIZE)).toBe(true);
      expect(await tally(transfers.map((transfer) => transfer.then()))).toEqual({ ok: count });
      await Promise.all([...reused, ...offers.map(({ released }) => released)]);
      const wrong = upTo(SIZE * count).filter(
        (at) => theirs.bytes[at] !== byteOf(Math.floor(at / SIZE)),
      );
      expect(wrong).toEqual([]);
      expect(b.stats().offers).toMatchObject({ open: 0, arrived: count, failed: 0 });
      expect(a.stats().transfers).toMatchObject({ running: 0, waiting: 0, done: count, failed: 0 });
    },
  );

  test('of ten transfers at once with one token, one succeeds', async () => {
    const { toA, toB, ours, theirs, partOf } = await setUp(10);
    const offer = await partOf(theirs, 0).offer({ access: 'write', to: toA });
    const transfers = upTo(10).map((i) => toB.write(partOf(ours, i), offer.token));
    expect(await tally(transfers.map((transfer) => transfer.then()))).toMatchObject({ ok: 1 });
    expect((await offer.arrived).length).toBe(SIZE);
    await Promise.all([...transfers.map(({ released }) => released), offer.released]);
  });

  test('a peer that is opened again and again is another one each time, and gets its transfers', async () => {
    const a = await TransferEngine.open({ provider, nics });
    onTestFinished(() => a.close());
    const ours = await a.register(new Uint8Array(SIZE).fill(7));
    for (let round = 0; round < ROUNDS; round++) {
      const b = await TransferEngine.open({ provider, nics });
      const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
      const theirs = await b.allocate(SIZE);
      const { token, arrived } = await theirs.offer({ access: 'write', to: toA });
      await Promise.all([toB.write(ours, token), arrived, toB.notify(Buffer.from('again'))]);
      expect(theirs.bytes.every((byte) => byte === 7)).toBe(true);
      for await (const { from } of b.notifications()) {
        expect(from).toBe(toA);
        break;
      }
      await Promise.all([toB.close(), b.close()]);
    }
  });
});
