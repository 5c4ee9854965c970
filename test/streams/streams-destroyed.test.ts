// A stream whose writer or reader is destroyed, or left by a loop, at each of its events: both ends close, no end that lost bytes
// seems to be whole, and no buffer is kept.
import '../support/softefa.js';
import type { Readable, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { CHUNK, streamPair } from '../support/stream-pairs.js';

const BYTES = pattern(3 * CHUNK + 5);
const REASON = new Error('the program has destroyed it');

type Pair = Awaited<ReturnType<typeof streamPair>>;

const WAYS: Record<string, (pair: Pair) => [Writable, Readable]> = {
  'remote.writable() to engine.incoming()': ({ b, toA, toB, poolA, poolB }) => {
    const incoming = b.incoming({ from: toA, pool: poolB });
    return [toB.writable(incoming.token, { pool: poolA }), incoming];
  },
  'engine.outgoing() to remote.download()': ({ b, toA, toB, poolA, poolB }) => {
    const outgoing = b.outgoing({ to: toA, pool: poolB });
    return [outgoing, toB.download(outgoing.token, { pool: poolA })];
  },
};

const EVENTS = [
  ['writer', 'begin'],
  ['writer', 'data'],
  ['writer', 'finish'],
  ['writer', 'end'],
  ['reader', 'begin'],
  ['reader', 'data'],
  ['reader', 'finish'],
  ['reader', 'end'],
] as const;

/** Runs a stream that one side destroys when an event comes. */
async function observe(
  [writer, reader]: [Writable, Readable],
  side: 'writer' | 'reader',
  event: string,
  error: Error | undefined,
) {
  const destroyed = side === 'writer' ? writer : reader;
  const destroy = () => void destroyed.destroy(error);
  const closed = [writer, reader].map(
    (stream) => new Promise<void>((resolve) => stream.once('close', resolve)),
  );
  const errors: { writer?: Error; reader?: Error } = {};
  writer.on('error', (reason) => {
    errors.writer = reason;
  });
  reader.on('error', (reason) => {
    errors.reader = reason;
  });
  const parts: Buffer[] = [];
  let hasEnded = false;
  reader.on('data', (part) => parts.push(part));
  reader.on('end', () => {
    hasEnded = true;
  });
  if (event === 'data') reader.once('data', destroy);
  if (event === 'end') reader.once('end', destroy);
  if (event === 'finish') writer.once('finish', destroy);
  for (let at = 0; at < BYTES.length; at += CHUNK) writer.write(BYTES.subarray(at, at + CHUNK));
  writer.end();
  if (event === 'begin') destroy();
  await Promise.all(closed);
  return { received: Buffer.concat(parts), hasEnded, ...errors };
}

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider !== 'tcp');

describe.each(providers)('%s', (provider) => {
  describe.each(Object.keys(WAYS))('%s', (way) => {
    const open = async () => {
      const pair = await streamPair({ provider });
      return { pair, ends: () => (WAYS[way] as (typeof WAYS)[string])(pair) };
    };

    test('destroyed at each event', async () => {
      const { pair, ends } = await open();
      for (const [side, event] of EVENTS) {
        for (const error of [REASON, undefined]) {
          const name = `${side}, ${event}, ${error}`;
          const result = await observe(ends(), side, event, error);
          const { received, hasEnded, writer, reader } = result;
          expect(same(received, BYTES.subarray(0, received.length)), name).toBe(true);
          if (hasEnded) expect(received.length, name).toBe(BYTES.length);
          const [own, peer] = side === 'writer' ? [writer, reader] : [reader, writer];
          const isOver = event === 'finish' || event === 'end';
          if (!isOver) expect(own, name).toBe(error);
          if (!isOver) expect(peer, name).toMatchObject({ code: 'FI_ECONNABORTED' });
          if (side === 'writer' && isOver)
            expect([hasEnded, reader], name).toEqual([true, undefined]);
        }
      }
      const leased = () => pair.poolA.stats().leased + pair.poolB.stats().leased;
      await expect.poll(leased).toBe(0);
    });

    test('left by a loop', async () => {
      const { pair, ends } = await open();
      const [writer, reader] = ends();
      const failed = new Promise((resolve) => writer.on('error', resolve));
      writer.write(BYTES);
      for await (const part of reader) {
        expect(part.length).toBeGreaterThan(0);
        break;
      }
      expect(await failed).toMatchObject({ code: 'FI_ECONNABORTED' });
      const leased = () => pair.poolA.stats().leased + pair.poolB.stats().leased;
      await expect.poll(leased).toBe(0);
    });
  });
});
