// What the package takes bytes from: each chunk that is bytes arrives, and any other chunk is refused, with nothing stored.
import '../support/softefa.js';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { enginePair } from '../support/engines.js';
import { serve } from '../support/object-stores.js';
import { howOften } from '../support/properties.js';
import { ALL_KINDS, type Chunk, chunkOf, chunkValue } from '../support/stream-programs.js';

const FORMS = {
  iterable: (values: readonly unknown[]) => values,
  generator: async function* (values: readonly unknown[]) {
    yield* values;
  },
  // A stream of objects cannot contain null.
  readable: (values: readonly unknown[]) => Readable.from(values.filter((each) => each !== null)),
  web: (values: readonly unknown[]) =>
    new ReadableStream({
      start(controller) {
        for (const value of values) controller.enqueue(value);
        controller.close();
      },
    }),
} as const;

/** Sends a source. Resolves to the bytes that have arrived. */
type Take = (source: never) => Promise<Uint8Array>;

/** @param takes whether a taker takes texts, and iterables that are not asynchronous. */
async function check(take: Take, takes: { text: boolean; iterable: boolean }, runs: number) {
  const forms = (Object.keys(FORMS) as (keyof typeof FORMS)[]).filter(
    (form) => takes.iterable || form !== 'iterable',
  );
  const bytesOf = ({ kind, value }: { kind: string; value: unknown }): Buffer | undefined => {
    if (typeof value === 'string') return takes.text ? Buffer.from(value) : undefined;
    if (ArrayBuffer.isView(value))
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return kind === 'arrayBuffer' ? Buffer.from(value as ArrayBuffer) : undefined;
  };
  const chunks = fc.array(chunkOf(ALL_KINDS), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.constantFrom(...forms), async (given: Chunk[], form) => {
      const values = given
        .map((chunk) => ({ kind: chunk.kind, value: chunkValue(chunk) }))
        .filter(({ value }) => form !== 'readable' || value !== null);
      const parts = values.map(bytesOf);
      const taking = take(FORMS[form](values.map(({ value }) => value)) as never);
      if (parts.includes(undefined)) {
        await expect(taking).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
        return;
      }
      expect(Buffer.compare(await taking, Buffer.concat(parts as Buffer[]))).toBe(0);
    }),
    howOften(runs),
  );
}

test('remote.upload()', async () => {
  const { b, toA, toB } = await enginePair({ provider: 'shm', nics: 1 });
  const take = async (source: Iterable<Uint8Array>) => {
    const incoming = b.incoming({ from: toA });
    const received = buffer(incoming);
    received.catch(() => {});
    await toB.upload(source, incoming.token);
    return received;
  };
  await check(take as Take, { text: false, iterable: true }, 30);
});

test('outgoing.sendFrom()', async () => {
  const { b, toA, toB } = await enginePair({ provider: 'shm', nics: 1 });
  const take = async (source: Iterable<Uint8Array>) => {
    const outgoing = b.outgoing({ to: toA });
    const received = buffer(toB.download(outgoing.token));
    received.catch(() => {});
    await outgoing.sendFrom(source);
    return received;
  };
  await check(take as Take, { text: false, iterable: true }, 30);
});

test.each([undefined, { provider: 'shm' }])('objects.put(), fabric: %o', async (fabric) => {
  const { connect } = await serve(fabric, { pieceSize: 16 * 1024 });
  const client = await connect();
  let count = 0;
  const take = async (source: AsyncIterable<Uint8Array>) => {
    const key = `object-${++count}`;
    try {
      await client.put(key, source);
    } catch (error) {
      await expect(client.head(key)).rejects.toMatchObject({ code: 'NoSuchKey' });
      throw error;
    }
    return (await client.get(key)).bytes;
  };
  await check(take as Take, { text: true, iterable: false }, 20);
});
