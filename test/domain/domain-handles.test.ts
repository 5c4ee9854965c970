// Handles of what has ended are used again, or a domain would run out of them in half a day; but not
// while something names them.
import type { RemoteRegion } from 'libfabric';
import { expect, test } from 'vitest';
import { endpoint, fabricError, settle } from '../support/transfer.js';

const INDEX = 2 ** 20 - 1;
const DESCRIPTION = { key: 1n, address: 0n, length: 64 };

test('slots are used again after 4096 handles each, and what a batch names is not', async (context) => {
  const ep = await endpoint(context, 'shm', ['FI_MSG', 'FI_RMA'], 'manual');
  const { domain } = ep;
  const self = ep.av.insert(ep.address);
  const batch = ep.batch();
  const handleOf = (region: RemoteRegion) => (region as unknown as { handle: number }).handle;
  const named = domain.remote(DESCRIPTION);
  batch.write(new Uint8Array(8), self, named);
  named.close();

  const rounds = 100 * 4096;
  const handles = new Set<number>();
  const slots = new Set<number>();
  for (let i = 0; i < rounds; i++) {
    const region = domain.remote(DESCRIPTION);
    handles.add(handleOf(region));
    slots.add(handleOf(region) & INDEX);
    region.close();
    domain.progress();
  }
  expect(handles.size).toBeLessThan(rounds);
  expect(slots.size).toBeLessThan(80);
  expect(handles).not.toContain(handleOf(named));
  await expect(settle(batch.submit(), ep)).rejects.toEqual(fabricError('FI_EINVAL'));
});

test('an address vector that closes gives the handles of its peers back', async (context) => {
  const ep = await endpoint(context, 'tcp;ofi_rxm', ['FI_MSG'], 'manual');
  const address = ep.address;
  const handles = new Set<number>();
  for (let i = 0; i < 100; i++) {
    const av = ep.domain.addressVector();
    handles.add((av.insert(address) as unknown as { handle: number }).handle & INDEX);
    await av.close();
  }
  expect(handles.size).toBe(1);
});
