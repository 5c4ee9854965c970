import '../support/four-nics.js';
import { SoftefaFaults } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { namespace } from '../support/softefa.js';

const SIZE = 4 << 20;
// Slow enough that each rail runs on a busy machine.
const RATE = 2; // MB/s
const SETTINGS = { provider: 'efa', slice: 64 << 10, stripe: 64 << 10, window: 128 << 10 };

/** Writes between two engines. The NICs of one process carry both directions at once. */
async function transfer() {
  const [sender, receiver] = await Promise.all(
    [0, 1].map(() => TransferEngine.open({ ...SETTINGS, stall: 60_000 })),
  );
  if (sender === undefined || receiver === undefined) throw new Error('no engines');
  onTestFinished(async () => {
    await Promise.all([sender.close(), receiver.close()]);
  });
  const bytes = pattern(SIZE);
  const memory = await receiver.allocate(SIZE);
  const offer = await memory.offer({ access: 'write', to: await receiver.peer(sender.address) });
  const remote = await sender.peer(receiver.address);
  const report = await remote.write(await sender.register(bytes), offer.token);
  await offer.arrived;
  expect(same(memory.bytes, bytes)).toBe(true);
  return report;
}

test('four slow links share the work, and none of them carries more than its rate', async () => {
  const faults = new SoftefaFaults({ namespace });
  onTestFinished(() => faults.close());
  faults.add('rate', { node: 0, nic: 2, value: RATE / 2 });
  faults.add('rate', { value: RATE });
  const { duration, rails } = await transfer();
  expect(rails.length).toBe(4);
  rails.forEach(({ byteLength }, nic) => {
    expect(byteLength).toBeGreaterThan(0);
    const rate = nic === 2 ? RATE / 2 : RATE;
    expect(byteLength / duration).toBeLessThan(rate * 1e3 * 1.01);
  });
});
