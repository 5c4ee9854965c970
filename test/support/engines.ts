// Pairs of transfer engines in one process.
import { TransferEngine, type TransferEngineOptions } from 'libfabric/transfer';
import { onTestFinished } from 'vitest';

/** Each provider, and whether peers map memory: `[provider, mapMemory]`. */
export const MAPPED_OR_NOT = [
  ['tcp', true],
  ['tcp', false],
  ['shm', true],
  ['shm', false],
  ['efa', false],
] as const;

/** Two engines that are peers of each other, closed when the test ends. */
export async function enginePair(options: TransferEngineOptions) {
  const a = await TransferEngine.open(options);
  onTestFinished(() => a.close());
  const b = await TransferEngine.open(options);
  onTestFinished(() => b.close());
  return { a, b, toB: await a.peer(b.address), toA: await b.peer(a.address) };
}
