import '../support/default-queues.js';
import '../support/softefa.js';
import { memoryUsage } from 'node:process';
import { TransferEngine } from 'libfabric/transfer';
import { expect, test, vi } from 'vitest';
import { quick } from '../support/cases.js';

const MIB = 2 ** 20;
const CYCLES = 20;

async function openAndClose(times: number) {
  for (let i = 0; i < times; i++) await (await TransferEngine.open({ provider: 'efa' })).close();
}

test.runIf(quick)(
  '20 engines on efa that were opened and closed leave less than 1 MiB each',
  async () => {
    await openAndClose(3);
    const before = memoryUsage.rss();
    await openAndClose(CYCLES);
    const grown = () => (memoryUsage.rss() - before) / MIB;
    await vi.waitFor(() => expect(grown()).toBeLessThan(CYCLES), { timeout: 20_000, interval: 50 });
  },
);
