// What put() takes besides bytes, and how its sources end.
import { openAsBlob } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import { MIB, serve, TCP } from '../support/object-stores.js';
import { settle } from '../support/settle.js';

const LONG = pattern(9 * MIB + 5); // more than a part

/** A file, its handle, and a Blob of it. */
async function fileIn(folder: string, bytes: Uint8Array) {
  const path = join(folder, '..', 'source');
  await writeFile(path, bytes);
  const file = await open(path);
  onTestFinished(() => file.close());
  return { file, blob: await openAsBlob(path) };
}

describe.each([
  ['over the fabric', TCP],
  ['over HTTP', undefined],
])('%s', (_, fabric) => {
  test('put() takes files, ranges of files, blobs, streams of the web and iterables', async () => {
    const { folder, connect } = await serve(fabric);
    const client = await connect();
    const { file, blob } = await fileIn(folder, LONG);
    const check = async (body: Parameters<typeof client.put>[1], expected: Uint8Array) => {
      await settle(client.put('a', body, { checksum: 'crc64nvme' }));
      expect(same((await client.get('a')).bytes, expected)).toBe(true);
    };
    await file.read(Buffer.alloc(3)); // the position is not used, and stays
    await check(file, LONG);
    expect((await file.read(Buffer.alloc(1))).buffer[0]).toBe(LONG[3]);
    await check({ file, start: 5, end: 100 }, LONG.subarray(5, 100));
    await check({ file, start: MIB }, LONG.subarray(MIB));
    await check(blob, LONG);
    await check(blob.slice(3, 30), LONG.subarray(3, 30));
    await check(new Blob([]), new Uint8Array());
    await check(new Blob(['ab', 'c']), Buffer.from('abc'));
    await check(blob.stream(), LONG);
    await check(['ab', Buffer.from('c'), new ArrayBuffer(1)], Buffer.from('abc\0'));
    const late = client.put('a', { file, start: 0, end: LONG.length + 1 });
    await expect(late).rejects.toMatchObject({ code: 'ERR_OUT_OF_RANGE' });
  });

  test('a wrong body rejects, and the error says what is right', async () => {
    const { connect } = await serve(fabric);
    const client = await connect();
    for (const body of [
      undefined,
      null,
      5,
      {},
      { file: 5 },
      () => {},
      Symbol('x'),
      new Map([[1, 2]]),
    ]) {
      const wrong = client.put('a', body as never);
      await expect(wrong).rejects.toMatchObject({
        code: 'ERR_INVALID_ARG_TYPE',
        message: expect.stringMatching(
          /^(body must be text, bytes, .* a FileHandle|a part of body)/,
        ),
      });
    }
    await expect(client.head('a')).rejects.toMatchObject({ code: 'NoSuchKey' });
  });

  /** Silent sources, and whether they have ended. */
  const silent = () => {
    let isCancelled = false;
    const node = new PassThrough();
    const web = new ReadableStream<Uint8Array>({
      cancel: () => {
        isCancelled = true;
      },
    });
    let isReturned = false;
    const iterator = {
      next: () => new Promise<never>(() => {}),
      return: async () => {
        isReturned = true;
        return { value: undefined, done: true as const };
      },
    };
    return [
      ['a stream of Node.js', node, () => node.destroyed],
      ['a stream of the web', web, () => isCancelled],
      ['an iterator', { [Symbol.asyncIterator]: () => iterator }, () => isReturned],
    ] as const;
  };

  test.each(['signal', 'close()'] as const)(
    '%s ends a put() whose source is silent, and the source',
    async (end) => {
      const { connect } = await serve(fabric);
      for (const [name, source, hasEnded] of silent()) {
        const client = await connect();
        await client.put('b', 'x');
        const controller = new AbortController();
        const putting = client.put('a', source, { signal: controller.signal });
        const failed = expect(putting, name).rejects.toThrow(
          end === 'signal' ? 'enough' : /closed/,
        );
        await new Promise(setImmediate);
        if (end === 'signal') controller.abort(new Error('enough'));
        else await client.close();
        await settle(failed);
        expect([name, hasEnded()]).toEqual([name, true]);
      }
    },
  );

  test('a put() that fails ends its source', async () => {
    const { connect } = await serve(fabric);
    const client = await connect();
    const endless = Readable.from(
      (async function* () {
        for (;;) yield Buffer.alloc(MIB);
      })(),
    );
    const refused = client.put('a', endless, { ifMatch: '"none"', checksum: 'sha256' });
    const failed = expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/./) });
    await new Promise(setImmediate);
    await client.close();
    await settle(failed);
    expect(endless.destroyed).toBe(true);
  });

  test('a put() that is refused before its first request ends its source', async () => {
    const { connect } = await serve(fabric);
    const client = await connect();
    const closed = await connect();
    await closed.close();
    const refused: Record<string, (source: never) => Promise<unknown>> = {
      ABORT_ERR: (source) => client.put('a', source, { signal: AbortSignal.abort() }),
      ERR_CLOSED: (source) => closed.put('a', source),
      ERR_INVALID_ARG_VALUE: (source) => client.put('a//b', source),
      ERR_INVALID_ARG_TYPE: (source) => client.put('a', source, { ifMatch: 1 as never }),
    };
    for (const [code, put] of Object.entries(refused)) {
      for (const [name, source, hasEnded] of silent()) {
        const expected = code === 'ABORT_ERR' ? { name: 'AbortError' } : { code };
        await expect(put(source as never), name).rejects.toMatchObject(expected);
        await expect.poll(hasEnded, { timeout: HANG_MS }).toBe(true);
      }
    }
  });
});
