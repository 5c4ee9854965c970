// libfabric/objects: ObjectClient with other servers of S3, which answer rightly, but not as the server of this package does.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ObjectClient } from 'libfabric/objects';
import { describe, expect, test } from 'vitest';
import { checksumOf } from '../../dist/objects/checksums.js';
import {
  type Answer,
  endless,
  foreignClient,
  listed,
  listOf,
  OBJECT,
  says,
} from '../support/foreign-server.js';

const MIB = 2 ** 20;
const WAYS = { 'node:http': {}, fetch: { fetch } };
const data = randomBytes(12 * MIB);

/** A server of one object. */
const serverOf =
  ({ knowsRanges, saysLength }: { knowsRanges: boolean; saysLength: boolean }): Answer =>
  ({ headers }, response) => {
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
    const isRange = knowsRanges && first !== undefined;
    const start = isRange ? Number(first) : 0;
    const end = isRange && last ? Math.min(Number(last) + 1, data.length) : data.length;
    response.writeHead(isRange ? 206 : 200, {
      ...OBJECT,
      ...(saysLength && { 'content-length': end - start }),
      ...(isRange && { 'content-range': `bytes ${start}-${end - 1}/${data.length}` }),
    });
    response.end(data.subarray(start, end));
  };

async function streamed(client: ObjectClient, range?: { start: number; end?: number }) {
  const pieces: Uint8Array[] = [];
  for await (const piece of client.stream('a', range && { range })) pieces.push(piece);
  for (const piece of pieces) expect(piece.buffer.byteLength).toBe(piece.length); // their own memory
  return Buffer.concat(pieces);
}

const ranges = [
  { start: 5, end: 10 },
  { start: 0, end: 9 * MIB },
  { start: MIB, end: 20 * MIB },
  { start: 11 * MIB },
];

describe.each(Object.entries(WAYS))('%s', (_way, options) => {
  describe.each([
    { knowsRanges: true, saysLength: true },
    { knowsRanges: true, saysLength: false },
    { knowsRanges: false, saysLength: true },
    { knowsRanges: false, saysLength: false },
  ])('ranges: $knowsRanges, lengths: $saysLength', ({ knowsRanges, saysLength }) => {
    const answer = serverOf({ knowsRanges, saysLength });

    test('stream() has all bytes, and those of a range', async () => {
      const client = await foreignClient(answer, options);
      expect(data.equals(await streamed(client))).toBe(true);
      for (const range of ranges)
        expect(data.subarray(range.start, range.end).equals(await streamed(client, range))).toBe(
          true,
        );
    });

    test('get() has all bytes, and those of a range, if the server says how long the object is', async () => {
      const client = await foreignClient(answer, options);
      const { bytes, size } = await client.get('a');
      expect([data.equals(bytes), size]).toEqual([true, data.length]);
      for (const range of ranges) {
        const getting = client.get('a', { range, into: new Uint8Array(data.length) });
        if (knowsRanges || saysLength) {
          const { bytes, size } = await getting;
          expect(data.subarray(range.start, range.end).equals(bytes)).toBe(true);
          expect(size).toBe(data.length);
        } else await expect(getting).rejects.toMatchObject({ code: 'InvalidAnswer' });
      }
    });

    test('a range behind the end is InvalidRange', async () => {
      if (knowsRanges) return;
      const client = await foreignClient(answer, options);
      const range = { start: 13 * MIB };
      await expect(streamed(client, range)).rejects.toMatchObject({ code: 'InvalidRange' });
    });
  });

  test.each([
    ['with a length above 4 GiB', { 'content-length': 5_000_000_000 }],
    ['without a length', {}],
  ])('an object %s waits in the server while the program has a piece', async (_what, length) => {
    const { answer, sent } = endless(200, { ...OBJECT, ...length });
    const client = await foreignClient(answer, options);
    let taken = 0;
    for await (const piece of client.stream('a')) {
      taken += piece.length;
      if (taken > 64 * MIB) break;
    }
    // The rest is in the buffers of the connection.
    expect(sent()).toBeLessThan(taken + 32 * MIB);
  });

  test('pieces come before the answer has ended', async () => {
    let response: ServerResponse | undefined;
    const client = await foreignClient((_request, given) => {
      response = given;
      given.writeHead(200, OBJECT).write('first');
    }, options);
    const pieces = client.stream('a');
    expect(Buffer.from((await pieces.next()).value ?? []).toString()).toBe('first');
    response?.end('second');
    expect(Buffer.from((await pieces.next()).value ?? []).toString()).toBe('second');
    expect((await pieces.next()).done).toBe(true);
  });

  test('an answer that ends early, or is reset, ends the stream with an error', async () => {
    for (const length of [{}, { 'content-length': 10 * MIB }]) {
      const client = await foreignClient((_request, response) => {
        response.writeHead(200, { ...OBJECT, ...length }).write('first');
        setImmediate(() => response.destroy());
      }, options);
      await expect(streamed(client)).rejects.toThrow();
    }
  });

  test('after abort() in the loop, the next step rejects', async () => {
    const client = await foreignClient(serverOf({ knowsRanges: false, saysLength: true }), options);
    const aborting = new AbortController();
    const reason = new Error('enough');
    let pieces = 0;
    const looping = (async () => {
      for await (const _ of client.stream('a', { signal: aborting.signal })) {
        pieces += 1;
        aborting.abort(reason);
      }
    })();
    await expect(looping).rejects.toBe(reason);
    expect(pieces).toBe(1);
  });

  test('a loop that ends early ends the connection', async () => {
    const closed: Promise<unknown>[] = [];
    const { answer } = endless(200, OBJECT);
    const client = await foreignClient((request, response) => {
      closed.push(once(response, 'close'));
      answer(request, response);
    }, options);
    for await (const _ of client.stream('a')) break;
    await Promise.all(closed);
    expect(closed.length).toBe(1);
  });

  test.each(['crc64nvme', 'sha256'] as const)(
    'a %s of a long answer is compared',
    async (checksum) => {
      const value = await checksumOf(checksum, data);
      const other = await checksumOf(checksum, data.subarray(1));
      const serving = (text: string) =>
        foreignClient(
          says(200, { ...OBJECT, [`x-amz-checksum-${checksum}`]: text }, data),
          options,
        );
      const [right, wrong] = [await serving(value), await serving(other)];
      const all = async (client: ObjectClient) => {
        let length = 0;
        for await (const piece of client.stream('a', { checksum })) length += piece.length;
        return length;
      };
      expect(await all(right)).toBe(data.length);
      await expect(all(wrong)).rejects.toMatchObject({ code: 'BadDigest' });
    },
  );
});

test('keys are decoded if the list says that they are encoded, with + for a space', async () => {
  const keysOf = async (content: string) => {
    const keys: string[] = [];
    const client = await foreignClient(says(200, {}, listOf(content)));
    for await (const { key } of client.list()) keys.push(key);
    return keys;
  };
  const content = `${listed('a+b%2Bc')}<CommonPrefixes><Prefix>d+%2F</Prefix></CommonPrefixes>`;
  expect(await keysOf(`<EncodingType>url</EncodingType>${content}`)).toEqual(['a b+c', 'd /']);
  expect(await keysOf(content)).toEqual(['a+b%2Bc', 'd+%2F']);
});

test('a completion that waits behind white space succeeds', async () => {
  const client = await foreignClient(({ method, url }, response) => {
    if (method === 'PUT') response.writeHead(200, { etag: '"p"' }).end();
    else if (url?.includes('?uploads'))
      response.end(
        '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>',
      );
    else {
      response.writeHead(200).write('  \n');
      response.end(
        '<CompleteMultipartUploadResult><ETag>&quot;z&quot;</ETag></CompleteMultipartUploadResult>\n',
      );
    }
  });
  const long = Array.from({ length: 9 }, () => Buffer.alloc(MIB));
  expect(await client.put('a', long)).toEqual({ etag: '"z"' });
});
