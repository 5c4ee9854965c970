// Links that are full for longer than the stall time of a rail: each slice and each message waits for its turn.
import '../support/softefa.js';
import { SoftefaFaults } from 'libfabric/softefa';
import { TransferEngine, type TransferMemory } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { namespace } from '../support/softefa.js';

const SIZE = 2 << 20;
const MANY = 12; // each has a turn every 250 ms
const RATE = 25; // MB/s
const bytes = pattern(SIZE);

async function openAll(count: number): Promise<TransferEngine[]> {
  const faults = new SoftefaFaults({ namespace });
  onTestFinished(() => faults.close());
  const engines = await Promise.all(
    Array.from({ length: count }, () => TransferEngine.open({ provider: 'efa', liveness: 1000 })),
  );
  onTestFinished(async () => {
    faults.clear();
    await Promise.all(engines.map((engine) => engine.close()));
  });
  faults.add('rate', { value: RATE });
  return engines;
}

/** Writes from one engine to another. Returns the memory that the bytes arrive in. */
async function move(from: TransferEngine, to: TransferEngine): Promise<TransferMemory> {
  const [toTo, toFrom] = [await from.peer(to.address), await to.peer(from.address)];
  const memory = await to.allocate(SIZE);
  const offer = await memory.offer({ access: 'write', to: toFrom });
  const { retries, rails } = await toTo.write(await from.register(bytes), offer.token);
  await offer.arrived;
  expect(retries).toBe(0);
  expect(rails[0]?.byteLength).toBe(SIZE);
  expect([toTo.state, toFrom.state]).toEqual(['connected', 'connected']);
  return memory;
}

const SLICES = (MANY * SIZE) / (512 << 10);

test.each([
  ['one engine writes to many', 'fan-out'],
  ['many engines write to one', 'fan-in'],
])('efa: %s over a slow link, and sends each slice once', async (_, shape) => {
  const [one, ...many] = await openAll(MANY + 1);
  if (one === undefined) throw new Error('no engine');
  const memories = await Promise.all(
    many.map((other) => (shape === 'fan-out' ? move(one, other) : move(other, one))),
  );
  for (const memory of memories) expect(same(memory.bytes, bytes)).toBe(true);
  const sent = (shape === 'fan-out' ? [one] : many).flatMap((engine) => engine.rails);
  const sum = (what: 'slices' | 'retries') => sent.reduce((all, rail) => all + rail[what], 0);
  expect({ slices: sum('slices'), retries: sum('retries') }).toEqual({
    slices: SLICES,
    retries: 0,
  });
});
