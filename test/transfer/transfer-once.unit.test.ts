import { expect, test } from 'vitest';
import { Once } from '../../dist/transfer/once.js';

test('a message passes once, in any order', () => {
  const once = new Once();
  for (const sequence of [2, 1, 3]) expect(once.isNew(sequence)).toBe(true);
  for (const sequence of [2, 1, 3]) expect(once.isNew(sequence)).toBe(false);
});

test('of 4096 numbers in a row each passes once, whatever their order', () => {
  const once = new Once();
  for (let last = 4096; last < 20_000; last += 4096) {
    expect(once.isNew(last)).toBe(true);
    for (let i = 1; i < 4096; i++) expect(once.isNew(last - i), `${last - i}`).toBe(true);
    for (let i = 0; i < last; i++) expect(once.isNew(last - i), `${last - i}`).toBe(false);
  }
});

test('numbers start again after the last one of 32 bits', () => {
  const once = new Once();
  for (let i = 2 ** 31 - 1; i < 2 ** 32; i += 2 ** 30) expect(once.isNew(i)).toBe(true);
  for (const sequence of [1, 0, 2]) expect(once.isNew(sequence), `${sequence}`).toBe(true);
  for (const sequence of [2 ** 32 - 1, 0, 1, 2]) expect(once.isNew(sequence)).toBe(false);
  expect(once.isNew(2 ** 32 - 2)).toBe(true);
});

test('a number that a peer has chosen far ahead takes no longer than any other', () => {
  const once = new Once();
  expect(once.isNew(1)).toBe(true);
  const start = performance.now();
  expect(once.isNew(2 ** 31 - 1)).toBe(true);
  expect(performance.now() - start).toBeLessThan(1000);
  expect(once.isNew(1)).toBe(false);
});
