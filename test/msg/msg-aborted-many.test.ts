// A signal that ends many receives: most of them wait for room in the provider, and each that ends makes room for another.
import '../support/softefa.js';
import { open } from 'libfabric';
import { expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { settle } from '../support/settle.js';
import { loopback } from '../support/transfer.js';

const FEW = 6000;
const TIMES = 8;

/** The milliseconds of CPU time that it takes to abort so many receives. The engine is turned by this thread. */
async function costOf(provider: string, count: number): Promise<number> {
  const ep = await open({ provider, caps: ['FI_MSG'], driver: 'manual', ...loopback(provider) });
  onTestFinished(() => ep.close({ timeout: 0 }));
  const control = new AbortController();
  const wait = { signal: control.signal };
  const receives = Array.from({ length: count }, () => ep.recv(new Uint8Array(8), null, wait));
  ep.domain.progress();
  const { user, system } = process.cpuUsage();
  control.abort(new Error('enough'));
  const ends = await settle(Promise.allSettled(receives), ep.domain);
  const used = process.cpuUsage();
  expect(ends.every((end) => end.status === 'rejected' && end.reason.message === 'enough')).toBe(
    true,
  );
  return (used.user + used.system - user - system) / 1000;
}

test.each(casesOf(['shm', 'tcp', 'efa'], (provider) => provider === 'shm'))(
  '%s: the time to abort receives grows with their number, not with its square',
  async (provider) => {
    const few = await costOf(provider, FEW);
    expect(await costOf(provider, FEW * TIMES)).toBeLessThan(3 * TIMES * few);
  },
);
