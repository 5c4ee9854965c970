// Streams of Node.js to and from the memory of peers: remote.writable(), upload() and download(), engine.incoming() and
// outgoing(), transfer.readable(), memory.readable() and writable().
import '../support/softefa.js';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { MAPPED_OR_NOT } from '../support/engines.js';
import { CHUNK, streamPair } from '../support/stream-pairs.js';

const LENGTHS = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 20 * CHUNK + 7];

/** Parts of some bytes, of different lengths. */
function* partsOf(bytes: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0, length = 1; at < bytes.length; at += length, length = (length * 7) % 90_001)
    yield bytes.subarray(at, at + length);
}

async function temporaryFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'libfabric-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'file');
}

async function openFile(path: string, flags?: string) {
  const file = await open(path, flags);
  onTestFinished(() => file.close());
  return file;
}

const providers = casesOf(MAPPED_OR_NOT, ([provider, mapped]) => mapped === (provider === 'tcp'));

describe.each(providers)('%s, mapped: %s', (provider, mapMemory) => {
  const options = { provider, mapMemory };

  test('bytes of any number go from an upload to an incoming stream', async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair(options);
    for (const length of LENGTHS) {
      const bytes = pattern(length);
      const incoming = b.incoming({ from: toA, pool: poolB });
      const writable = toB.writable(incoming.token, { pool: poolA });
      const [received] = await Promise.all([
        buffer(incoming),
        pipeline(Readable.from(partsOf(bytes)), writable),
      ]);
      expect([length, received.length, same(received, bytes)]).toEqual([length, length, true]);
    }
    expect(poolA.stats().buffers).toBeLessThanOrEqual(6);
  });

  test('bytes of any number go from an outgoing stream to a download', async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair(options);
    for (const length of LENGTHS) {
      const bytes = pattern(length);
      const outgoing = b.outgoing({ to: toA, pool: poolB });
      const [received] = await Promise.all([
        buffer(toB.download(outgoing.token, { pool: poolA })),
        outgoing.sendFrom(partsOf(bytes)),
      ]);
      expect([length, received.length, same(received, bytes)]).toEqual([length, length, true]);
    }
  });

  test('memory that was offered for one transfer takes an upload, and gives a download', async () => {
    const { b, toA, toB, poolA } = await streamPair(options, 2);
    const memory = await b.allocate(21 * CHUNK);
    for (const length of LENGTHS.slice(1)) {
      const bytes = pattern(length);
      const offer = await memory.offer({ access: 'write', to: toA });
      const report = await toB.upload(partsOf(bytes), offer.token, { pool: poolA });
      expect(report.byteLength).toBe(length);
      const arrival = await offer.arrived;
      await offer.released;
      expect([arrival.length, same(arrival.bytes.subarray(0, length), bytes)]).toEqual([
        length,
        true,
      ]);
      const readable = await memory.slice(0, length).offer({ access: 'read', to: toA });
      const received = await buffer(toB.download(readable.token, { pool: poolA }));
      expect(same(received, bytes)).toBe(true);
      expect((await readable.arrived).length).toBe(length);
      await readable.released;
    }
  });

  test('files go from registered memory to registered memory', async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair(options);
    const bytes = pattern(10 * CHUNK + 100);
    const [from, into] = [await temporaryFile(), await temporaryFile()];
    await writeFile(from, bytes);
    const source = await openFile(from);
    const incoming = b.incoming({ from: toA, pool: poolB });
    const [saved, sent] = await Promise.all([
      incoming.saveTo(await openFile(into, 'w')),
      toB.upload(source, incoming.token, { pool: poolA }),
    ]);
    expect([saved.byteLength, sent.byteLength]).toEqual([bytes.length, bytes.length]);
    expect(same(await readFile(into), bytes)).toBe(true);
    const outgoing = b.outgoing({ to: toA, pool: poolB });
    const target = await openFile(into, 'r+');
    await Promise.all([
      toB.download(outgoing.token, { pool: poolA }).saveTo({ file: target, start: 5 }),
      outgoing.sendFrom({ file: source, start: 100, end: 3 * CHUNK }),
    ]);
    const changed = Buffer.from(bytes);
    changed.set(bytes.subarray(100, 3 * CHUNK), 5);
    expect(same(await readFile(into), changed)).toBe(true);
  });

  test('the bytes of a read can be read in their order before all of them have arrived', async () => {
    const { a, b, toA, toB } = await streamPair(options);
    const bytes = pattern(2 ** 22);
    const theirs = await b.register(bytes);
    const ours = await a.allocate(bytes.length);
    const offer = await theirs.offer({ access: 'read', to: toA });
    const transfer = toB.read(offer.token, ours);
    const parts: Buffer[] = [];
    for await (const part of transfer.readable()) parts.push(Buffer.from(part));
    expect(parts.length).toBeGreaterThan(1);
    expect(same(Buffer.concat(parts), bytes)).toBe(true);
    await transfer;
  });

  test('while the reader does not read, only the chunks ahead are transferred', async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair(options);
    const bytes = pattern(40 * CHUNK);
    const memory = await b.register(bytes);
    const offer = await memory.offer({ access: 'read', to: toA });
    const download = toB.download(offer.token, { pool: poolA });
    const [part] = (await once(download, 'data')) as [Buffer];
    download.pause();
    const parts = [part];
    const incoming = b.incoming({ from: toA, pool: poolB });
    const uploading = toB.upload(Readable.from(partsOf(bytes)), incoming.token, { pool: poolA });
    await once(incoming, 'readable');
    expect(poolA.stats().acquired).toBeLessThan(20);
    expect(poolB.stats().acquired).toBeLessThan(10);
    expect(same(await buffer(incoming), bytes)).toBe(true);
    await uploading;
    for await (const each of download) parts.push(each);
    expect(same(Buffer.concat(parts), bytes)).toBe(true);
  });
});

test.each(['shm', 'tcp', 'efa'])(
  '%s: written bytes arrive although the stream has not ended',
  async (provider) => {
    const { b, toA, toB } = await streamPair({ provider });
    const incoming = b.incoming({ from: toA });
    const writable = toB.writable(incoming.token);
    for (const word of ['one', 'two', 'three']) {
      writable.write(word);
      const [part] = await once(incoming, 'data');
      expect(String(part)).toBe(word);
    }
    writable.end();
    await once(incoming, 'end');
  },
);

describe('over tcp', () => {
  const options = { provider: 'tcp' };

  test('a pool with one buffer suffices', async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair(options, 1);
    const bytes = pattern(5 * CHUNK + 3);
    const incoming = b.incoming({ from: toA, pool: poolB });
    const [received] = await Promise.all([
      buffer(incoming),
      toB.upload(partsOf(bytes), incoming.token, { pool: poolA }),
    ]);
    expect(same(received, bytes)).toBe(true);
  });

  test('buffers of different sizes fit', async () => {
    const { a, b, toA, toB } = await streamPair(options);
    const bytes = pattern(5 * CHUNK + 3);
    const [small, large] = [a.pool({ size: 1000, count: 3 }), b.pool({ size: 7777, count: 3 })];
    const incoming = b.incoming({ from: toA, pool: large });
    const outgoing = b.outgoing({ to: toA, pool: large });
    const [received, downloaded] = await Promise.all([
      buffer(incoming),
      buffer(toB.download(outgoing.token, { pool: small })),
      toB.upload([bytes], incoming.token, { pool: small }),
      outgoing.sendFrom([bytes]),
    ]);
    expect([same(received, bytes), same(downloaded, bytes)]).toEqual([true, true]);
  });

  test('memory can be read and written as a stream', async () => {
    const { a, toA, b } = await streamPair(options);
    const memory = await a.allocate(4 * CHUNK);
    await pipeline(Readable.from(partsOf(pattern(3 * CHUNK))), memory.writable({ start: CHUNK }));
    expect(same(memory.bytes.subarray(CHUNK), pattern(3 * CHUNK))).toBe(true);
    expect(same(await buffer(memory.readable({ start: CHUNK })), pattern(3 * CHUNK))).toBe(true);
    const pages = memory.pages({ indices: [3, 1], size: CHUNK });
    const order = Buffer.concat([
      memory.bytes.subarray(3 * CHUNK),
      memory.bytes.subarray(CHUNK, 2 * CHUNK),
    ]);
    expect(same(await buffer(pages.readable()), order)).toBe(true);
    await pipeline([pattern(2 * CHUNK)], pages.writable());
    expect(same(memory.bytes.subarray(3 * CHUNK), pattern(2 * CHUNK).subarray(0, CHUNK))).toBe(
      true,
    );
    const full = memory.slice(0, 10).writable();
    full.end(Buffer.alloc(11));
    expect((await once(full, 'error'))[0]).toMatchObject({ code: 'ERR_OUT_OF_RANGE' });
    const theirs = await b.allocate(CHUNK);
    const offer = await theirs.offer({ access: 'write', to: toA });
    const write = (await a.peer(b.address)).write(memory.slice(0, 10), offer.token);
    expect(() => write.readable()).toThrow('not a read');
    await write;
  });
});
