import { expect, test } from 'vitest';
import { randomWords } from '../support/bytes.js';
import { trendOf } from './trend.mjs';

function samples(slope: number) {
  const next = randomWords(7);
  const noise = () => next() / 2 ** 32 - 0.5;
  return Array.from({ length: 400 }, (_, i) => ({
    time: i / 400,
    value: 100 + (slope * i) / 400 + 10 * noise(),
  }));
}

test('noise without growth has 0 in the confidence interval of its slope', () => {
  const { low, high } = trendOf(samples(0));
  expect(low).toBeLessThan(0);
  expect(high).toBeGreaterThan(0);
});

test('growth under the same noise has a confidence interval above 0, around the slope', () => {
  const { low, high } = trendOf(samples(20));
  expect(low).toBeGreaterThan(10);
  expect(high).toBeLessThan(30);
});
