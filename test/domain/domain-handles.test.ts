// Handles of closed objects are reused, unless something still refers to them. Otherwise a domain would run
// out of handles in half a day.
import type { RemoteRegion } from 'libfabric';
import { expect, test } from 'vitest';
import { settle } from '../support/settle.js';
import { endpoint, fabricError } from '../support/transfer.js';

const INDEX = 2 ** 20 - 1;
const DESCRIPTION = { key: 1n, address: 0n, length: 64 };

test('a slot is reused after 4096 handles, unless a batch refers to its handle', async (context) => {
  const ep = await endpoint(context, 'shm', ['FI_MSG', 'FI_RMA'], 'manual');
  const { domain } = ep;
  const self = ep.av.insert(ep.address);
  const batch = ep.batch();
  const handleOf = (region: RemoteRegion) => (region as unknown as { handle: number }).handle;
  const inUse = domain.remote(DESCRIPTION);
  batch.write(new Uint8Array(8), self, inUse);
  inUse.close();

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
  expect(handles).not.toContain(handleOf(inUse));
  await expect(settle(batch.submit(), ep.domain)).rejects.toEqual(fabricError('FI_EINVAL'));
});

test('closing an address vector releases the handles of its peers', async (context) => {
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
