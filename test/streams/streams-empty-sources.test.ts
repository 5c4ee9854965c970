// Sources without bytes: all kinds that are taken have the same result, and all others are refused, also if they are empty.
import '../support/softefa.js';
import { openAsBlob, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { enginePair } from '../support/engines.js';
import { serve } from '../support/object-stores.js';

/** Sends a source. Resolves to the bytes that have arrived. */
type Take = (source: never) => Promise<Uint8Array>;

const ended = () => {
  const stream = new PassThrough();
  stream.end();
  return stream;
};

const EMPTY: Record<string, () => unknown> = {
  array: () => [],
  'array of empty parts': () => [new Uint8Array(), new Uint8Array()],
  set: () => new Set(),
  generator: () => (function* () {})(),
  'async generator': () => (async function* () {})(),
  Readable: () => Readable.from([]),
  'PassThrough that has ended': ended,
  'stream of the web': () => new ReadableStream({ start: (controller) => controller.close() }),
  Blob: () => new Blob([]),
  'stream of a Blob': () => new Blob([]).stream(),
};
/** Those that only put() takes. */
const EMPTY_BODIES: Record<string, () => unknown> = {
  text: () => '',
  Uint8Array: () => new Uint8Array(),
  ArrayBuffer: () => new ArrayBuffer(0),
  SharedArrayBuffer: () => new SharedArrayBuffer(0),
  DataView: () => new DataView(new ArrayBuffer(0)),
  'array of empty texts': () => ['', ''],
};

const filled = <T extends { append(name: string, value: string): void }>(of: T) => {
  of.append('a', 'b');
  return of;
};
const UNKNOWN: Record<string, () => unknown> = {
  FormData: () => new FormData(),
  'FormData with a field': () => filled(new FormData()),
  URLSearchParams: () => new URLSearchParams(),
  'URLSearchParams with a field': () => filled(new URLSearchParams()),
  Headers: () => new Headers(),
  Map: () => new Map(),
  WeakMap: () => new WeakMap(),
  Response: () => new Response(''),
  'no function as an iterator': () => ({ [Symbol.iterator]: 5 }),
  'an iterator without next()': () => ({ [Symbol.asyncIterator]: () => ({}) }),
  Promise: () => Promise.resolve(''),
  Date: () => new Date(),
};

const READ: Record<string, () => Promise<unknown>> = {
  async Readable() {
    const stream = Readable.from([Buffer.from('bytes')]);
    await buffer(stream);
    return stream;
  },
  async 'stream of the web'() {
    const stream = new Blob(['bytes']).stream();
    for await (const _ of stream);
    return stream;
  },
};

async function emptyFile(folder: string) {
  const path = join(folder, '..', 'empty');
  writeFileSync(path, '');
  const file = await open(path);
  onTestFinished(() => file.close());
  return { file, blob: await openAsBlob(path) };
}

async function check(take: Take, more: Record<string, () => unknown> = {}) {
  for (const [kind, make] of Object.entries({ ...EMPTY, ...more }))
    expect([kind, (await take(make() as never)).length]).toEqual([kind, 0]);
  for (const [kind, make] of Object.entries(UNKNOWN))
    await expect(take(make() as never), kind).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG_TYPE',
    });
  for (const [kind, make] of Object.entries(READ))
    await expect(take((await make()) as never), kind).rejects.toMatchObject({
      code: 'ERR_INVALID_STATE',
      message: expect.stringContaining('was read to its end'),
    });
}

test.each([
  ['HTTP', undefined, {}],
  ['fetch()', undefined, { fetch }],
  ['the fabric', { provider: 'shm' }, {}],
])('put() over %s', async (_, fabric, options) => {
  const { folder, connect } = await serve(fabric);
  const client = await connect(options);
  let count = 0;
  const take = async (source: never) => {
    const key = `object-${++count}`;
    try {
      await client.put(key, source);
    } catch (error) {
      await expect(client.head(key)).rejects.toMatchObject({ code: 'NoSuchKey' });
      throw error;
    }
    return (await client.get(key)).bytes;
  };
  const { file, blob } = await emptyFile(folder);
  const files = { file: () => file, range: () => ({ file, start: 0, end: 0 }), blob: () => blob };
  await check(take, { ...EMPTY_BODIES, ...files });
});

test('remote.upload() and outgoing.sendFrom()', async () => {
  const { b, toA, toB } = await enginePair({ provider: 'shm', nics: 1 });
  await check(async (source) => {
    const incoming = b.incoming({ from: toA });
    const received = buffer(incoming);
    received.catch(() => {});
    await toB.upload(source, incoming.token);
    return received;
  });
  await check(async (source) => {
    const outgoing = b.outgoing({ to: toA });
    const received = buffer(toB.download(outgoing.token));
    received.catch(() => {});
    await outgoing.sendFrom(source);
    return received;
  });
});
