import { expect, test } from 'vitest';
import { OncePerPeer } from '../../dist/transfer/notes.js';

test('a message passes once, in any order, for each peer', () => {
  const once = new OncePerPeer();
  for (const sequence of [2, 1, 3]) expect(once.isNew(1n, sequence)).toBe(true);
  for (const sequence of [2, 1, 3]) expect(once.isNew(1n, sequence)).toBe(false);
  expect(once.isNew(2n, 1)).toBe(true);
});

test('a number that a peer has chosen far ahead takes no longer than any other', () => {
  const once = new OncePerPeer();
  expect(once.isNew(1n, 1)).toBe(true);
  const start = performance.now();
  expect(once.isNew(1n, 2 ** 32 - 1)).toBe(true);
  expect(performance.now() - start).toBeLessThan(1000);
  expect(once.isNew(1n, 1)).toBe(false);
});
