import '../support/four-nics.js';
import { readdirSync, readFileSync } from 'node:fs';
import { SoftefaFaults } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { enginePair, pattern, same } from '../support/engines.js';
import { namespace } from '../support/softefa.js';
import { settle } from '../support/transfer.js';

const SIZE = 32 << 20;

const engineThreads = () =>
  readdirSync('/proc/self/task')
    .map((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8'))
    .filter((name) => name === 'libfabric\n').length;

test.each([
  [1, 2],
  [2, 4],
  [3, 6],
  [64, 8],
])('efa: four NICs a side with at most %d threads have %d', async (threads, expected) => {
  const { a, b } = await enginePair({ provider: 'efa', threads });
  expect([a.rails.length, b.rails.length, engineThreads()]).toEqual([4, 4, expected]);
});

test('efa: one thread drives four NICs, and the loss of one', async () => {
  const { a, b, toA, toB } = await enginePair({ provider: 'efa', threads: 1 });
  const from = await a.register(pattern(SIZE));
  const into = await b.allocate(SIZE);
  const moved = async (onTheWay = () => {}) => {
    into.bytes.fill(0);
    const offer = await into.offer({ access: 'write', to: toA });
    const transfer = toB.write(from, offer.token);
    for await (const { done } of transfer.progress()) {
      if (done < SIZE / 8) continue;
      onTheWay();
      break;
    }
    await settle(offer.arrived);
    expect(same(into.bytes, from.bytes)).toBe(true);
    return transfer;
  };
  await moved();
  const faults = new SoftefaFaults({ namespace });
  onTestFinished(() => faults.close());
  const { bytes } = await moved(() => faults.add('freeze', { nic: 1 }));
  expect(bytes).toBe(SIZE);
});

test('threads must be a number from 1 to 64', async () => {
  for (const threads of [0, 65, 1.5, '2'] as number[]) {
    await expect(TransferEngine.open({ provider: 'tcp', threads })).rejects.toThrow(/threads/);
  }
});
