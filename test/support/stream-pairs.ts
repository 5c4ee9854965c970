// Two engines for streams between them.
import { enginePair } from './engines.js';

/** Bytes of a buffer. */
export const CHUNK = 64 * 1024;

/** Two engines, each with a small pool. */
export async function streamPair(options: Parameters<typeof enginePair>[0], count = 6) {
  const pair = await enginePair({ nics: 1, ...options });
  const pool = { size: CHUNK, count };
  return { ...pair, poolA: pair.a.pool(pool), poolB: pair.b.pool(pool) };
}
