import { open } from 'libfabric';
import { expect, test } from 'vitest';
import * as layout from '../../dist/contract/layout.js';

test('stats() reads the counters in the order in which the engine writes them', async () => {
  expect(layout.STATS.length * 8).toBe(80);
  const ep = await open({ provider: 'shm', driver: 'manual' });
  const self = ep.av.insert(ep.address);
  const batch = ep.batch();
  for (let i = 0; i < 3; i++) batch.recv(new Uint8Array(5));
  for (let i = 0; i < 3; i++) batch.send(new Uint8Array(5), self);
  batch.run();
  const stats = ep.domain.stats();
  expect(Object.keys(stats)).toEqual([...layout.STATS]);
  expect(stats).toMatchObject({ operations: 6, completions: 6, errors: 0, bytesTransferred: 30 });
  expect(stats).toMatchObject({ wakeups: 0, immediates: 0 });
  expect(stats.turns).toBeGreaterThan(0);
  await ep.close();
});
