// Programs that fast-check generates, on two engines and on a model of them: offers, writes and messages, in bursts and
// one after another.
import '../support/softefa.js';
import fc from 'fast-check';
import type { Offer, TransferEngine, TransferMemory } from 'libfabric/transfer';
import { describe, expect, test } from 'vitest';
import { enginePair } from '../support/engines.js';
import { howOften } from '../support/properties.js';
import { settle } from '../support/settle.js';

const PROGRAMS = 15;
const SLOT = 5000;
const SLOTS = 24;
const OTHER = 0xff;

const step = fc.oneof(
  { arbitrary: fc.constant('offer' as const), weight: 4 },
  {
    arbitrary: fc.record({ write: fc.nat({ max: 5 }), length: fc.integer({ min: 1, max: SLOT }) }),
    weight: 6,
  },
  { arbitrary: fc.record({ close: fc.nat({ max: 5 }) }), weight: 2 },
  { arbitrary: fc.record({ notify: fc.integer({ min: 1, max: 40 }) }), weight: 2 },
  { arbitrary: fc.constant('settle' as const), weight: 2 },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Each offer takes one write: the first, unless it was closed before. A model of that is its number of writes. */
interface Offered {
  readonly offer: Offer;
  readonly slot: number;
  readonly lengths: number[];
  readonly writes: Promise<number | undefined>[];
  takes: 0 | 1;
}

/** Reads messages until there is one of each number. */
async function readAll(engine: TransferEngine, count: number): Promise<number[]> {
  const numbers: number[] = [];
  if (count === 0) return numbers;
  for await (const { bytes } of engine.notifications()) {
    if (numbers.push(Buffer.from(bytes).readUInt32LE()) === count) break;
  }
  return numbers.sort((x, y) => x - y);
}

describe.each([
  ['tcp', true],
  ['tcp', false],
  ['shm', true],
  ['efa', false],
] as const)('%s, memory mapped: %s', (provider, mapMemory) => {
  test('an offer takes one write, whole, and memory may be used again as soon as it is released', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1, mapMemory });
    const arena = await b.allocate(SLOT * SLOTS);

    /** Writes from memory that gets other bytes when it is released. Returns the written value, if the write succeeds. */
    const write = async (memory: TransferMemory, { offer, lengths }: Offered, length: number) => {
      const value = lengths.push(length);
      memory.bytes.fill(value);
      const transfer = toB.write(memory.slice(0, length), offer.token);
      const reused = transfer.released.then(() => void memory.bytes.fill(OTHER));
      const done = await transfer.then(() => value).catch(refused);
      await reused;
      return done;
    };

    const program = async (steps: Step[]) => {
      const offers: Offered[] = [];
      const free: TransferMemory[] = [];
      const started: Promise<unknown>[] = [];
      const sent: number[] = [];
      arena.bytes.fill(0);
      for (const each of steps) {
        if (each === 'settle') {
          await settle(Promise.all(started.splice(0)));
        } else if (each === 'offer') {
          const slot = offers.length % SLOTS;
          const offer = await arena
            .slice(slot * SLOT, (slot + 1) * SLOT)
            .offer({ access: 'write', to: toA });
          offers.push({ offer, slot, lengths: [], writes: [], takes: 1 });
        } else if ('notify' in each) {
          for (let i = 0; i < each.notify; i++) {
            const bytes = Buffer.alloc(4);
            bytes.writeUInt32LE(sent.length);
            sent.push(sent.length);
            started.push(toB.notify(bytes));
          }
        } else if ('write' in each) {
          const offered = offers.at(-1 - each.write);
          if (offered === undefined) continue;
          const memory = free.pop() ?? (await a.allocate(SLOT));
          const writing = write(memory, offered, each.length).finally(() => free.push(memory));
          offered.writes.push(writing);
          started.push(writing);
        } else {
          const offered = offers.at(-1 - each.close);
          if (offered === undefined) continue;
          await settle(Promise.all(offered.writes)); // a write in flight may win or lose against close()
          await offered.offer.close();
          if (offered.writes.length === 0) offered.takes = 0;
        }
      }
      await settle(Promise.all(started));
      for (const { offer, slot, lengths, writes, takes } of offers) {
        const done = (await Promise.all(writes)).filter((value) => value !== undefined);
        expect(done).toHaveLength(writes.length > 0 ? takes : 0);
        const [value] = done;
        const found = arena.bytes.subarray(slot * SLOT, (slot + 1) * SLOT);
        if (value !== undefined) {
          const length = lengths[value - 1] as number;
          expect((await settle(offer.arrived)).length).toBe(length);
          expect(found.subarray(0, length).every((byte) => byte === value)).toBe(true);
        } else {
          await offer.close();
        }
        await settle(offer.released);
      }
      const numbers = await settle(readAll(b, sent.length));
      expect(numbers).toEqual(sent);
      expect(b.stats().notifications.unread).toBe(0);
      await Promise.all(free.map((memory) => memory.close()));
    };

    const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), program);
    const details = await fc.check(property, howOften<[Step[]]>(PROGRAMS));
    if (details.failed) throw new Error(fc.defaultReportMessage(details));
  });
});

/** The errors of a write that comes too late: from the engine, or from a NIC that is faster. */
function refused(error: { readonly code?: string }): undefined {
  expect(['FI_EKEYREJECTED', 'FI_EIO', 'FI_ECANCELED', 'FI_EINVAL', 'FI_EACCES']).toContain(
    error.code,
  );
}
