// Streams from files: all bytes of the range arrive, or the stream fails, also if the file becomes shorter meanwhile.
import '../support/softefa.js';
import { type FileHandle, mkdtemp, open as openFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { CHUNK, streamPair } from '../support/stream-pairs.js';

const SIZE = 20 * CHUNK;

async function fileOf(bytes: Uint8Array): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'libfabric-'));
  const file = await openFile(join(folder, 'file'), 'w+');
  onTestFinished(async () => {
    await file.close();
    await rm(folder, { recursive: true });
  });
  await file.write(bytes, 0, bytes.length, 0);
  return file;
}

describe.each(['remote.upload()', 'outgoing.sendFrom()'])('%s', (way) => {
  const prepare = async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair({ provider: 'shm' });
    return (source: object) => {
      if (way === 'remote.upload()') {
        const incoming = b.incoming({ from: toA, pool: poolB });
        return {
          reader: incoming,
          sent: toB.upload(source as never, incoming.token, { pool: poolA }),
        };
      }
      const outgoing = b.outgoing({ to: toA, pool: poolB });
      const reader = toB.download(outgoing.token, { pool: poolA });
      return { reader, sent: outgoing.sendFrom(source as never) };
    };
  };

  test('a range beyond the end of the file is refused', async () => {
    const begin = await prepare();
    const file = await fileOf(pattern(100));
    for (const range of [{ start: 101 }, { end: 101 }, { start: 50, end: 101 }]) {
      const { reader, sent } = begin({ file, ...range });
      reader.on('error', () => {}).resume();
      await expect(sent).rejects.toMatchObject({ name: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
      reader.destroy();
    }
    for (const range of [{}, { start: 100 }, { start: 1, end: 100 }, { start: 7, end: 7 }]) {
      const { reader, sent } = begin({ file, ...range });
      const [received] = await Promise.all([buffer(reader), sent]);
      const { start = 0, end = 100 } = range as { start?: number; end?: number };
      expect(same(received, pattern(100).subarray(start, end))).toBe(true);
    }
  });

  test.each([{}, { start: CHUNK, end: SIZE }])(
    'a file that becomes shorter fails the streams of both sides: %o',
    async (range) => {
      const begin = await prepare();
      const file = await fileOf(pattern(SIZE));
      const { reader, sent } = begin({ file, ...range });
      const failed = new Promise((resolve) => reader.on('error', resolve));
      sent.catch(() => {});
      let isShort = false;
      reader.on('data', async () => {
        if (isShort) return;
        isShort = true;
        reader.pause();
        await file.truncate(CHUNK / 2);
        reader.resume();
      });
      await expect(sent).rejects.toMatchObject({ code: 'FI_ENODATA' });
      expect(await failed).toMatchObject({ code: 'FI_ECONNABORTED' });
    },
  );

  test('files of the kernel, whose size is not that of their bytes, are sent whole', async () => {
    const begin = await prepare();
    for (const path of ['/proc/self/status', '/sys/kernel/mm/transparent_hugepage/enabled']) {
      const file = await openFile(path);
      onTestFinished(() => file.close());
      const { reader, sent } = begin(file);
      const [received, report] = await Promise.all([buffer(reader), sent]);
      expect(received.length).toBe(report.byteLength);
      expect(received.length).toBeGreaterThan(0);
    }
  });
});
