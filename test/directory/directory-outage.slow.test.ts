// Engines that have joined by etcd and Redis, over an outage of 30 seconds: none loses another that lives.
import { setTimeout as sleep } from 'node:timers/promises';
import { TransferEngine } from 'libfabric/transfer';
import { test } from 'vitest';
import { makeDirectory } from '../programs/directory-kinds.mjs';
import { etcdService, redisService } from '../support/directories.js';
import { Member } from '../support/member.js';
import { settle } from '../support/settle.js';

const OUTAGE = 30_000; // ms
const TTL = 5000; // ms
const tcp = { provider: 'tcp', node: '127.0.0.1' } as const;

test.concurrent.for([
  ['etcd', () => etcdService()],
  ['an etcd that loses its data', () => etcdService(true)],
  ['redis, which loses its data', () => redisService()],
] as const)('%s', async ([name, start], { skip, expect, onTestFinished }) => {
  const service = await start();
  if (service === undefined) return skip(`needs ${name}`);
  onTestFinished(() => service.stop());
  const directory = makeDirectory(service.making(1));
  onTestFinished(() => directory.close());
  const engine = await TransferEngine.open(tcp);
  onTestFinished(() => engine.close());
  const membership = await engine.join(directory, 'engines', { ttl: TTL });
  const events = membership.events();
  const next = async () => (await settle(events.next())).value;
  const members = [
    new Member(service.making(2), tcp, TTL, onTestFinished),
    new Member(service.making(3), tcp, TTL, onTestFinished),
  ] as const;
  const ids = await Promise.all(members.map((member) => member.line()));
  for (const _ of members) expect(ids).toContain((await next()).peer.id);
  const lines = [await members[0].line(), await members[0].line()];
  expect(lines.sort()).toEqual([engine.id, ids[1]].map((id) => `joined ${id}`).sort());

  await service.fail();
  await sleep(OUTAGE);
  expect([...membership.peers.keys()].sort()).toEqual([...ids].sort());
  members[1].child.kill('SIGKILL');
  await service.restore();
  const restored = performance.now();
  // The first event since is that of the process which was killed meanwhile, one lease after the outage.
  expect(await next()).toMatchObject({ type: 'lost', peer: { id: ids[1] } });
  expect(performance.now() - restored).toBeGreaterThan(TTL * 0.9);
  const entries = await directory.lookup('engines');
  expect(entries.map(({ id }) => id)).toEqual([engine.id, ids[0]].sort());
  expect(await members[0].line()).toBe('lost its entry is no longer in the directory');
  await members[0].ends();
  expect(await next()).toMatchObject({ type: 'lost', peer: { id: ids[0] } });
});
