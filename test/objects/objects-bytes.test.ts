// libfabric/objects: objects arrive whole, over the fabric and by HTTP, from many clients at once.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ObjectBody, ObjectClient } from 'libfabric/objects';
import { describe, expect, test, vi } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { HANG_MS } from '../support/limits.js';
import {
  connectWithEngine,
  type Fabric,
  MIB,
  openEngine,
  openIn,
  serve,
  TCP,
} from '../support/object-stores.js';

const providers: readonly (readonly [string, Fabric])[] = [
  ['HTTP', undefined],
  ['shm', { provider: 'shm' }],
  ['tcp', TCP],
  ['efa', { provider: 'efa' }],
];

async function* chunksOf(bytes: Uint8Array, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function joined(chunks: AsyncIterable<Uint8Array>) {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(Buffer.from(chunk)); // valid until the next one
  return Buffer.concat(all);
}

describe.each(casesOf(providers, ([name]) => name === 'HTTP' || name === 'efa'))(
  'over %s',
  (_, fabric) => {
    test('bytes and streams go there and back', async () => {
      const { folder, connect } = await serve(fabric, { pieceSize: MIB });
      const client = await connect();
      for (const size of [0, 1, 100_000, MIB, 5 * MIB + 123]) {
        const bytes = pattern(size, size + 1);
        const bodies: Record<string, ObjectBody> = { bytes, stream: chunksOf(bytes, 70_000) };
        for (const [name, body] of Object.entries(bodies)) {
          const { etag } = await client.put(`of/${name}`, body, { checksum: 'crc64nvme' });
          expect(same(readFileSync(join(folder, 'of', name)), bytes), name).toBe(true);
          const got = await client.get(`of/${name}`, { checksum: 'crc64nvme' });
          expect([got.etag, got.size, same(got.bytes, bytes)]).toEqual([etag, size, true]);
          expect(await client.head(`of/${name}`)).toMatchObject({ etag, size });
        }
        const streamed = await joined(client.stream('of/bytes', { checksum: 'sha256' }));
        expect(same(streamed, bytes)).toBe(true);
        const into = new Uint8Array(size + 1).fill(7);
        const { bytes: copied } = await client.get('of/bytes', { into });
        expect([same(copied, bytes), into[size]]).toEqual([true, 7]);
      }
      await vi.waitFor(() => expect(openIn(folder)).toEqual([]), { timeout: HANG_MS });
    });

    test('a range is a part of the object', async () => {
      const { connect } = await serve(fabric, { pieceSize: MIB });
      const client = await connect();
      const bytes = pattern(3 * MIB);
      await client.put('object', bytes);
      for (const [start, end] of [
        [0, 1],
        [10, 20],
        [5, 2 * MIB + 7],
        [MIB, undefined],
      ] as const) {
        const range = { start, ...(end !== undefined && { end }) };
        const wanted = bytes.subarray(start, end);
        const got = await client.get('object', { range, checksum: 'crc64nvme' });
        expect([got.size, same(got.bytes, wanted)]).toEqual([3 * MIB, true]);
        expect(same(await joined(client.stream('object', { range })), wanted)).toBe(true);
      }
      await expect(client.get('object', { range: { start: 3 * MIB } })).rejects.toMatchObject({
        ...{ name: 'ObjectError', code: 'InvalidRange', status: 416, key: 'object' },
      });
    });
  },
);

describe.each(casesOf(providers.slice(1), ([name]) => name === 'shm'))('over %s', (_, given) => {
  const fabric = given as NonNullable<Fabric>;

  test('the server reads and writes memory of the client', async () => {
    const { folder, url } = await serve(fabric, { pieceSize: MIB });
    const { client, engine } = await connectWithEngine(url, fabric);
    for (const size of [1, 100_000, 5 * MIB + 123]) {
      const bytes = pattern(size, size + 1);
      const memory = await engine.register(bytes);
      await client.put('object', memory, { checksum: 'sha256' });
      expect(same(readFileSync(join(folder, 'object')), bytes)).toBe(true);
      const into = await engine.allocate(size + 1);
      const got = await client.get('object', { into, checksum: 'crc64nvme' });
      expect([same(got.bytes, bytes), into.bytes[size]]).toEqual([true, 0]);
      await Promise.all([memory.close(), into.close()]);
    }
    const room = await engine.allocate(4096);
    await expect(client.get('object', { into: room })).rejects.toThrow('options.into');
  });

  test('streams and shared memory go through a pool of one buffer', async () => {
    const { url } = await serve(fabric, { buffers: 1 });
    const engine = await openEngine(fabric);
    const pool = engine.pool({ size: 65_536, count: 1 });
    const client = new ObjectClient(`${url}/b`, { engine, pool });
    const bytes = new Uint8Array(new SharedArrayBuffer(MIB));
    bytes.set(pattern(MIB));
    for (const body of [bytes, chunksOf(bytes, 100_000)]) {
      await client.put('object', body, { checksum: 'sha256' });
      expect(same(await joined(client.stream('object', { checksum: 'sha256' })), bytes)).toBe(true);
    }
    expect(pool.stats()).toMatchObject({ buffers: 1, leased: 0, waiting: 0 });
    await client.close();
  });

  test('an object arrives in a buffer of a pool', async () => {
    const { url } = await serve(fabric);
    const { client, engine } = await connectWithEngine(url, fabric);
    const pool = engine.pool({ size: MIB, count: 1 });
    for (const size of [10, MIB]) {
      await client.put('object', pattern(size));
      using lease = await client.lease('object', pool);
      expect(same(lease.bytes, pattern(size))).toBe(true);
    }
    await client.put('object', pattern(MIB + 1));
    await expect(client.lease('object', pool)).rejects.toMatchObject({ code: 'ERR_OUT_OF_RANGE' });
    expect(pool.stats().leased).toBe(0);
  });
});

test('a client without an engine uses HTTP, and so does one whose server has none', async () => {
  const bytes = pattern(MIB);
  const { connect, url } = await serve(TCP);
  const without = await connect({ engine: undefined } as never);
  await without.put('object', bytes);
  expect(same((await without.get('object')).bytes, bytes)).toBe(true);
  const over = await (await serve(undefined)).connect({ engine: await openEngine(TCP) });
  await over.put('object', bytes);
  expect(same((await over.get('object')).bytes, bytes)).toBe(true);
  const asked: string[] = [];
  const given: typeof fetch = (...args) => {
    asked.push(String(args[0]));
    return fetch(...args);
  };
  const fetching = await connect({ engine: undefined, fetch: given } as never);
  expect(same((await fetching.get('object')).bytes, bytes)).toBe(true);
  expect(asked).toContain(`${url}/b/object`);
});

test('8 clients at once get their own objects through one buffer of the server', async () => {
  const { connect } = await serve(TCP, { buffers: 1 });
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect()));
  await Promise.all(clients.map((client, i) => client.put(`object-${i}`, pattern(MIB + i, i + 1))));
  await Promise.all(
    clients.map(async (client, i) => {
      const wanted = (i + 7) % clients.length;
      const { bytes } = await client.get(`object-${wanted}`);
      expect(same(bytes, pattern(MIB + wanted, wanted + 1)), `client ${i}`).toBe(true);
    }),
  );
});

test('an object that changes between two pieces is refused', async () => {
  const { connect } = await serve(TCP, { pieceSize: 65_536 });
  const client = await connect();
  await client.put('object', pattern(3 * MIB));
  const pieces = client.stream('object');
  await pieces.next();
  await client.put('object', pattern(3 * MIB, 2));
  const rest = (async () => {
    for await (const piece of pieces) expect(piece.length).toBe(65_536);
  })();
  await expect(rest).rejects.toMatchObject({ code: 'PreconditionFailed' });
});

test('a server that was restarted is met again', async () => {
  const first = await serve(TCP);
  const client = await first.connect();
  await client.put('object', pattern(MIB));
  const port = Number(new URL(first.url).port);
  await first.server.close();
  await expect(client.get('object')).rejects.toThrow();
  const { createObjectServer } = await import('libfabric/objects');
  const second = await createObjectServer(first.root, { engine: await openEngine(TCP) });
  await second.listen(port);
  expect(same((await client.get('object')).bytes, pattern(MIB))).toBe(true);
  await second.close();
});
