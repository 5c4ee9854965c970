// Streams of objects that share one pool: none waits for a buffer that another one keeps.
import type { ObjectClient } from 'libfabric/objects';
import { describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { openEngine, serve } from '../support/object-stores.js';

const PIECE = 300 * 1024; // longer than what comes with an answer
const KEYS = ['1', '2', '3', '4'];
const bytesOf = (key: string) => pattern(4 * PIECE + 100, Number(key));

const all = ['shm', 'tcp', 'efa'];

describe.each(casesOf(all, (provider) => provider !== 'tcp'))('%s', (provider) => {
  /** A client with some buffers, of a server with as many, which has the objects of all keys. */
  async function prepare(count: number): Promise<ObjectClient> {
    const fabric = { provider, ...(provider === 'tcp' && { node: '127.0.0.1' }) };
    const { connect } = await serve(fabric, { pieceSize: PIECE, buffers: count });
    const engine = await openEngine(fabric);
    const client = await connect({ engine, pool: engine.pool({ size: PIECE, count }) });
    for (const key of KEYS) await client.put(key, bytesOf(key));
    return client;
  }

  test.each(casesOf([1, 2, 8], (count) => count === 1))(
    '%i buffers: streams are read side by side',
    async (count) => {
      const client = await prepare(count);
      const streams = KEYS.map((key) => client.stream(key));
      const parts = KEYS.map(() => [] as Uint8Array[]);
      for (let left = KEYS.length; left > 0; ) {
        const pieces = await Promise.all(streams.map((each) => each.next()));
        left = pieces.filter(({ done }) => !done).length;
        for (const [i, { value }] of pieces.entries()) if (value) parts[i]?.push(value);
      }
      // The pieces stay as they are.
      for (const [i, key] of KEYS.entries())
        expect(same(Buffer.concat(parts[i] ?? []), bytesOf(key))).toBe(true);
    },
  );

  test.each(casesOf([1, 2, 8], (count) => count === 1))(
    '%i buffers: objects are copied by streams',
    async (count) => {
      const client = await prepare(count);
      await Promise.all(KEYS.map((key) => client.put(`copy-${key}`, client.stream(key))));
      for (const key of KEYS)
        expect(same((await client.get(`copy-${key}`)).bytes, bytesOf(key))).toBe(true);
    },
  );

  test('readers that have stopped keep no buffer', async () => {
    const client = await prepare(2);
    const stopped = KEYS.map((key) => client.stream(key));
    await Promise.all(stopped.map((each) => each.next()));
    for (const key of KEYS) {
      expect(same((await client.get(key)).bytes, bytesOf(key))).toBe(true);
      await client.put(`copy-${key}`, client.stream(key));
    }
    for (const each of stopped) await each.return(undefined);
  });
});
