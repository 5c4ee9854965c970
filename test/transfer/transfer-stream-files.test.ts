// Files that change while streams read them: all bytes arrive that a file had at the beginning, or the stream fails.
import { mkdtemp, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { Channel } from '../../dist/transfer/confirmations.js';
import { encodeMessage } from '../../dist/transfer/streams/messages.js';
import { decodeStreamToken } from '../../dist/transfer/streams/stream-token.js';
import { pattern } from '../support/bytes.js';
import { CHUNK, streamPair } from '../support/stream-pairs.js';

const LENGTH = 10 * CHUNK;

async function fileOf(bytes: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'libfabric-'));
  const path = join(folder, 'file');
  await writeFile(path, bytes);
  const file = await open(path);
  onTestFinished(async () => {
    await file.close();
    await rm(folder, { recursive: true });
  });
  return { path, file };
}

type Opened = Awaited<ReturnType<typeof fileOf>>;

/** Calls `before` and `after` around the first read from a position on. */
function around({ file }: Opened, from: number, before: () => unknown, after: () => unknown) {
  const read = file.read.bind(file) as (...args: unknown[]) => Promise<unknown>;
  let isDone = false;
  file.read = (async (...args: unknown[]) => {
    if (isDone || (args[3] as number) < from) return read(...args);
    isDone = true;
    await before();
    const result = await read(...args);
    await after();
    return result;
  }) as typeof file.read;
}

/** Sends a file in one of the ways, and returns how both sides have ended: the bytes, or the code of the error. */
async function sent(opened: Opened, way: 'upload' | 'outgoing' | 'memory') {
  const { b, toA, toB, poolA, poolB } = await streamPair({ provider: 'tcp' });
  const ends = async (sending: Promise<{ byteLength: number }>, receiving: Promise<number>) => {
    const settled = await Promise.allSettled([sending.then((s) => s.byteLength), receiving]);
    return settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.code));
  };
  if (way === 'outgoing') {
    const outgoing = b.outgoing({ to: toA, pool: poolB });
    const received = buffer(toB.download(outgoing.token, { pool: poolA })).then((x) => x.length);
    return ends(outgoing.sendFrom(opened.file), received);
  }
  if (way === 'upload') {
    const incoming = b.incoming({ from: toA, pool: poolB });
    const received = buffer(incoming).then((x) => x.length);
    return ends(toB.upload(opened.file, incoming.token, { pool: poolA }), received);
  }
  const memory = await b.allocate(LENGTH);
  const offer = await memory.offer({ access: 'write', to: toA });
  return ends(
    toB.upload(opened.file, offer.token, { pool: poolA }),
    offer.arrived.then((x) => x.length),
  );
}

test.each(['upload', 'outgoing', 'memory'] as const)(
  '%s: a file that was shorter for a moment fails the stream',
  async (way) => {
    for (const at of [LENGTH / 2, LENGTH / 2 - 100]) {
      const opened = await fileOf(pattern(LENGTH));
      around(
        opened,
        LENGTH / 2,
        () => truncate(opened.path, at),
        () => truncate(opened.path, LENGTH),
      );
      const [sender, receiver] = await sent(opened, way);
      expect(sender).toBe('FI_ENODATA');
      expect(receiver).toMatch(/^FI_(ECONNABORTED|ECANCELED)$/);
    }
  },
);

test('a file that has grown is sent to its end', async () => {
  const opened = await fileOf(pattern(LENGTH));
  around(
    opened,
    LENGTH / 2,
    () => writeFile(opened.path, pattern(100), { flag: 'a' }),
    () => {},
  );
  expect(await sent(opened, 'upload')).toEqual([LENGTH + 100, LENGTH + 100]);
});

test('a file of the kernel, whose size is more than its bytes, is sent to its end', async () => {
  const path = '/sys/kernel/mm/transparent_hugepage/enabled';
  const { length } = await readFile(path);
  const file = await open(path);
  onTestFinished(() => file.close());
  expect((await file.stat()).size).toBeGreaterThan(length);
  expect(await sent({ path, file }, 'upload')).toEqual([length, length]);
});

test('a Blob whose bytes end early fails the stream', async () => {
  const { b, toA, toB, poolA, poolB } = await streamPair({ provider: 'tcp' });
  const incoming = b.incoming({ from: toA, pool: poolB });
  const blob = new Blob([pattern(3 * CHUNK)]);
  const { slice } = blob;
  blob.slice = (start, end) => {
    const part = slice.call(blob, start, end);
    part.arrayBuffer = async () => new ArrayBuffer(10);
    return part;
  };
  const received = buffer(incoming).catch(({ code }) => code);
  await expect(toB.upload(blob, incoming.token, { pool: poolA })).rejects.toMatchObject({
    code: 'FI_ENODATA',
  });
  expect(await received).toBe('FI_ECONNABORTED');
});

test('a download fails if other bytes have arrived than its sender says', async () => {
  const { a, b, toA, toB } = await streamPair({ provider: 'tcp' });
  const outgoing = b.outgoing({ to: toA });
  const to = { owner: toB.identity, self: toA.identity, secret: '' };
  const { stream } = decodeStreamToken(outgoing.token, 'read', to);
  const received = buffer(toB.download(outgoing.token));
  // It arrives before the true one.
  const message = { kind: 'end', chunks: 1, byteLength: 101 } as const;
  await toA.send(encodeMessage({ stream, toOwner: false, message }), Channel.Stream);
  const sending = outgoing.sendFrom([pattern(100)]);
  await expect(received).rejects.toMatchObject({ code: 'FI_EIO' });
  await sending;
  expect(a.stats().offers.open).toBe(0);
});
