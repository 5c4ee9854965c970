import '../support/softefa.js';
import { open } from 'libfabric';
import { expect, onTestFinished, test } from 'vitest';

const caps = ['FI_MSG', 'FI_RMA', 'FI_SOURCE'] as const;

test.each([
  { provider: 'shm', isNamed: true },
  { provider: 'efa', isNamed: true },
  { provider: 'tcp', isNamed: false },
])(
  '$provider: the arrival of a write with data names its writer: $isNamed',
  async ({ provider, isNamed }) => {
    const [reader, ...writers] = await Promise.all([1, 2, 3].map(() => open({ provider, caps })));
    if (reader === undefined) throw new Error('none opened');
    onTestFinished(async () => {
      for (const each of [reader, ...writers]) await each.close();
    });
    const peers = writers.map(({ address }) => reader.av.insert(address));
    const region = await reader.domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const arrivals = reader.receiveQueue.immediates();
    for (const [i, writer] of writers.entries()) {
      const remote = writer.domain.remote(region.descriptor());
      await writer.writedata(new Uint8Array(8), i, writer.av.insert(reader.address), remote);
      const { value } = await arrivals.next();
      expect(value.data).toBe(BigInt(i));
      expect(value.source).toBe(isNamed ? peers[i] : undefined);
    }
    await arrivals.return();
  },
);

test('a queue of endpoints with several vectors names no writer', async () => {
  const writer = await open({ provider: 'shm', caps });
  const reader = await open({ provider: 'shm', caps });
  onTestFinished(async () => {
    await writer.close();
    await reader.close();
  });
  const { domain, info, receiveQueue } = reader;
  const other = domain.endpoint(info, { cq: receiveQueue, av: domain.addressVector() });
  const [region] = [await domain.allocate(64, ['FI_REMOTE_WRITE'])];
  reader.av.insert(writer.address);
  other.av.insert(writer.address);
  const arrivals = receiveQueue.immediates();
  const remote = writer.domain.remote(region.descriptor());
  await writer.writedata(new Uint8Array(8), 5n, writer.av.insert(reader.address), remote);
  expect((await arrivals.next()).value).toMatchObject({ data: 5n, source: undefined });
  await arrivals.return();
});
