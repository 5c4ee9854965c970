// Pairs of transfer engines in one process.
import { TransferEngine, type TransferEngineOptions } from 'libfabric/transfer';
import { onTestFinished } from 'vitest';

/** Two engines that know each other, closed when the test ends. */
export async function enginePair(options: TransferEngineOptions) {
  const a = await TransferEngine.open(options);
  onTestFinished(() => a.close());
  const b = await TransferEngine.open(options);
  onTestFinished(() => b.close());
  return { a, b, toB: await a.peer(b.card), toA: await b.peer(a.card) };
}

/** Random numbers of 32 bits, from a seed. */
export function randomWords(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state;
  };
}

/** Bytes that differ from place to place and from one seed to the next. */
export function pattern(length: number, seed = 1): Uint8Array {
  const next = randomWords(seed * 2654435761);
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0; i < words.length; i++) words[i] = next();
  return new Uint8Array(words.buffer, 0, length);
}

export const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
