// saveTo() of a stream that something reads, and sendFrom() of one that something writes: one of the two is refused.
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { settle } from '../support/settle.js';
import { CHUNK, streamPair } from '../support/stream-pairs.js';

const SIZE = 20 * CHUNK;
const IN_USE = { code: 'ERR_INVALID_STATE' };

async function newFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'libfabric-'));
  const file = await open(join(folder, 'file'), 'w+');
  onTestFinished(async () => {
    await file.close();
    await rm(folder, { recursive: true });
  });
  return file;
}

/** Ways to read a stream. Those that return no promise have read nothing yet. */
const readers: Record<string, (stream: Readable) => unknown> = {
  'a listener for data': (stream) => stream.once('data', () => {}),
  'a listener for readable': (stream) => stream.once('readable', () => {}),
  'resume()': (stream) => stream.resume(),
  'pipe()': (stream) => stream.pipe(new PassThrough().resume()),
  'an iterator': (stream) =>
    void stream[Symbol.asyncIterator]()
      .next()
      .catch(() => {}),
  'the first data': (stream) => once(stream, 'data'),
  'a part by read()': async (stream) => {
    await once(stream, 'readable');
    stream.read(1000);
  },
  'an iterator that has ended': async (stream) => {
    for await (const _ of stream.iterator({ destroyOnReturn: false })) break;
  },
};

describe.each(['incoming', 'download'])('saveTo() of %s', (kind) => {
  const prepare = async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair({ provider: 'tcp' });
    const begin = (): [Readable & { saveTo(file: FileHandle): Promise<unknown> }, object] => {
      if (kind === 'incoming') {
        const incoming = b.incoming({ from: toA, pool: poolB });
        return [incoming, toB.upload([pattern(SIZE)], incoming.token, { pool: poolA })];
      }
      const outgoing = b.outgoing({ to: toA, pool: poolB });
      const download = toB.download(outgoing.token, { pool: poolA });
      return [download, outgoing.sendFrom([pattern(SIZE)])];
    };
    return begin;
  };

  test('is refused at once after anything has begun to read, and changes nothing', async () => {
    const begin = await prepare();
    const file = await newFile();
    for (const [name, read] of Object.entries(readers)) {
      const [stream, sending] = begin();
      stream.on('error', () => {});
      const reading = read(stream);
      if (reading instanceof Promise) await settle(reading);
      await expect(settle(stream.saveTo(file)), name).rejects.toMatchObject(IN_USE);
      expect((await file.stat()).size, name).toBe(0);
      stream.destroy();
      await Promise.allSettled([sending]);
    }
  });

  test('takes the bytes of a stream whose readers have left before', async () => {
    const begin = await prepare();
    const file = await newFile();
    const [stream, sending] = begin();
    const listener = () => {};
    stream.on('data', listener).off('data', listener).pause();
    await settle(Promise.all([stream.saveTo(file), sending]));
    expect((await file.stat()).size).toBe(SIZE);
  });
});

describe('sendFrom()', () => {
  const prepare = async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair({ provider: 'tcp' });
    const outgoing = b.outgoing({ to: toA, pool: poolB });
    toB
      .download(outgoing.token, { pool: poolA })
      .on('error', () => {})
      .resume();
    return outgoing.on('error', () => {});
  };

  test('is refused after a write that still waits', async () => {
    const outgoing = await prepare();
    outgoing.cork();
    outgoing.write('a');
    await expect(outgoing.sendFrom([])).rejects.toMatchObject(IN_USE);
    outgoing.end();
    await settle(once(outgoing, 'finish'));
  });

  test('fails at a write', async () => {
    const outgoing = await prepare();
    const endless = async function* () {
      for (;;) yield pattern(CHUNK);
    };
    const sending = outgoing.sendFrom(endless());
    const written = new Promise((resolve) => outgoing.write('a', resolve));
    await expect(settle(sending)).rejects.toMatchObject(IN_USE);
    expect(await settle(written)).toMatchObject(IN_USE);
  });
});
