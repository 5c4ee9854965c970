import { expect } from 'vitest';

/** Random numbers of 32 bits, from a seed. */
export function randomWords(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state;
  };
}

/** Bytes that depend on their position and on the seed. */
export function pattern(length: number, seed = 1): Uint8Array {
  const next = randomWords(seed * 2654435761);
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0; i < words.length; i++) words[i] = next();
  return new Uint8Array(words.buffer, 0, length);
}

export const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

/** Compares bytes. The failure names the first index that differs. */
export function expectBytes(actual: Uint8Array, expected: Uint8Array): void {
  if (same(actual, expected)) return;
  const at = expected.findIndex((byte, i) => actual[i] !== byte);
  expect(actual.length, 'length').toBe(expected.length);
  expect.fail(`byte ${at} is ${actual[at]}, not ${expected[at]}`);
}
