// Queues whose read() also returns remote writes with data, among the completions: fi_cq_read(3).
import { Fabric, type QueueEntry } from 'libfabric';
import { expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { drivers } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { closing, entryOf } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA', 'FI_SOURCE'] as const;

async function sides(driver: (typeof drivers)[number]) {
  const info = entryOf('shm', CAPS);
  const opened = (fabric: Fabric) => closing(fabric.domain(info, { driver }));
  const fabric = closing(Fabric.open(info));
  const [near, domain] = [opened(fabric), opened(fabric)];
  const endpointOn = (of: typeof near, queue: ReturnType<typeof near.completionQueue>) =>
    closing(of.endpoint(info, { av: of.addressVector(), cq: queue }));
  const a = endpointOn(near, near.completionQueue());
  const cq = domain.completionQueue({ remoteWrites: true });
  const b = endpointOn(domain, cq);
  const region = await domain.allocate(64, ['FI_REMOTE_WRITE']);
  const remote = a.domain.remote(region.descriptor());
  const [toA, toB] = [b.av.insert(a.address), a.av.insert(b.address)];
  const done = <T>(promise: Promise<T>) => settle(promise, a.domain, domain);
  const write = (data: number) => done(a.writedata(pattern(8, data), data, toB, remote));
  const read = async (count: number) => {
    const entries: QueueEntry[] = [];
    while (entries.length < count) {
      entries.push(...cq.read());
      if (a.domain.driver === 'manual') a.domain.progress();
      await new Promise(setImmediate);
    }
    return entries;
  };
  return { a, b, cq, toA, toB, done, write, read };
}

test.each(drivers)('%s driver: they have their place among the messages', async (driver) => {
  const { a, b, toA, toB, done, write, read } = await sides(driver);
  const target = new Uint8Array(64);
  for (const context of [0, 2, 3]) b.post.recv(target, null, { context });
  await done(a.send(pattern(8, 0), toB));
  await write(1);
  await done(a.send(pattern(8, 2), toB));
  await done(a.send(pattern(8, 3), toB));
  await write(4);
  const entries = await read(5);
  const data = entries.map(({ completion }) => completion?.data);
  expect(entries.map(({ context }) => context)).toEqual([0, undefined, 2, 3, undefined]);
  expect(data).toEqual([undefined, 1n, undefined, undefined, 4n]);
  const flags = ['FI_RMA', 'FI_REMOTE_WRITE', 'FI_REMOTE_CQ_DATA'];
  expect([...(entries[1]?.completion?.flags ?? [])].sort()).toEqual(flags.sort());
  expect(entries[1]?.completion?.source).toBe(toA);
});

test('such a queue has no immediates()', async () => {
  const { cq } = await sides('thread');
  const refused = expect.objectContaining({ code: 'ERR_INVALID_STATE' });
  expect(() => cq.immediates()).toThrow(refused);
  await expect(cq.arrived(1n)).rejects.toEqual(refused);
});

test('writes beyond the limit are reported once, and forgetImmediates() starts over', async () => {
  const { a, cq, toB, write, read, b } = await sides('thread');
  const region = await b.domain.allocate(64, ['FI_REMOTE_WRITE']);
  const remote = a.domain.remote(region.descriptor());
  const bytes = pattern(8);
  const rounds = 66_000 / 1000;
  const batch = a.batch();
  for (let i = 0; i < 1000; i++) batch.writedata(bytes, i, toB, remote);
  for (let round = 0; round < rounds; round++) await batch.submit();
  await expect.poll(() => cq.readErrors().map(({ code }) => code)).toEqual(['FI_EOVERRUN']);
  expect((await read(65_536)).length).toBe(65_536);
  await write(7);
  expect(cq.read()).toEqual([]);
  expect(cq.readErrors()).toEqual([]);
  cq.forgetImmediates();
  await write(8);
  const [entry] = await read(1);
  expect(entry?.completion?.data).toBe(8n);
});
