// libfabric/objects: bodies with `content-encoding: aws-chunked`, and the checksums that a request announces.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { serve, temporaryIn } from '../support/object-stores.js';

const STREAMING = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
const CRC32 = 'x-amz-checksum-crc32';

const crcOf = (text: string) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString('base64');
};
const hashOf = (text: string) => createHash('sha256').update(text);

async function prepared() {
  const { root, folder, url } = await serve(undefined);
  const put = async (body: string, headers: Record<string, string>) => {
    const response = await fetch(`${url}/b/object`, { method: 'PUT', headers, body });
    const [, code] = /<Code>(\w+)</.exec(await response.text()) ?? [];
    return [response.status, code];
  };
  const chunked = (body: string, length: number, headers: Record<string, string> = {}) =>
    put(body, {
      'content-encoding': 'aws-chunked',
      'x-amz-content-sha256': STREAMING,
      'x-amz-decoded-content-length': String(length),
      ...headers,
    });
  return { root, folder, url, put, chunked, path: join(folder, 'object') };
}

const STORED = [200, undefined];

test('bodies in chunks are decoded, with signatures and trailers', async () => {
  const { path, chunked } = await prepared();
  const stored = () => readFileSync(path, 'utf8');
  expect(await chunked('5\r\nhello\r\n0\r\n\r\n', 5)).toEqual(STORED);
  expect(stored()).toBe('hello');
  const signed = 'a;chunk-signature=00\r\n0123456789\r\n1;x\r\n!\r\n0;chunk-signature=00\r\n';
  const trailer = `${CRC32}:${crcOf('0123456789!')}\r\nx-amz-trailer-signature:00\r\n\r\n`;
  const announced = { 'x-amz-trailer': 'X-Amz-Checksum-CRC32' };
  expect(await chunked(signed + trailer, 11, announced)).toEqual(STORED);
  expect(stored()).toBe('0123456789!');
  expect(await chunked('0\r\n\r\n', 0)).toEqual(STORED);
  expect(stored()).toBe('');
});

test('malformed chunks, and bytes that do not match, change nothing', async () => {
  const { root, path, chunked } = await prepared();
  writeFileSync(path, 'as it was');
  const wrong = [
    ...['', 'hello', '5\r\nhell', '5\r\nhello', '5\r\nhello\r\n', '5\r\nhelloX\r\n0\r\n\r\n'],
    ...['-1\r\n\r\n', 'zz\r\n\r\n', '0x5\r\nhello\r\n0\r\n\r\n', '5\r\nhello\r\n0\r\n'],
    ...[`${'f'.repeat(13)}\r\n`, '0\r\n\r\nmore', '0\r\nno colon\r\n\r\n'],
    `5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`,
  ];
  for (const body of wrong) {
    const [status] = await chunked(body, body.startsWith('0') ? 0 : 5);
    expect([body, status]).toEqual([body, 400]);
  }
  const whole = '5\r\nhello\r\n0\r\n\r\n';
  for (const length of [4, 6]) expect((await chunked(whole, length))[0]).toBe(400);
  const digest = `5\r\nhello\r\n0\r\n${CRC32}:${crcOf('other')}\r\n\r\n`;
  expect(await chunked(digest, 5, { 'x-amz-trailer': CRC32 })).toEqual([400, 'BadDigest']);
  expect(readFileSync(path, 'utf8')).toBe('as it was');
  expect(temporaryIn(root)).toEqual([]);
});

test('the trailers are those that were announced, each once', async () => {
  const { root, path, chunked, put } = await prepared();
  const body = (...trailers: string[]) =>
    `5\r\nhello\r\n0\r\n${trailers.map((line) => `${line}\r\n`).join('')}\r\n`;
  const crc = `${CRC32}:${crcOf('hello')}`;
  const sha = `x-amz-checksum-sha256:${hashOf('hello').digest('base64')}`;
  const announced = { 'x-amz-trailer': CRC32 };
  const refused = [400, 'MalformedTrailerError'];
  for (const trailers of [
    [],
    [sha],
    [crc, sha],
    [crc, crc],
    [crc, 'a: b'],
    ['x-amz-trailer-signature:0'],
  ])
    expect([trailers, await chunked(body(...trailers), 5, announced)]).toEqual([trailers, refused]);
  expect(await chunked(body(crc), 5)).toEqual(refused);
  expect(await put('hello', announced)).toEqual(refused); // a body without trailers
  const both = { 'x-amz-trailer': `${CRC32}, x-amz-checksum-sha256` };
  expect(await chunked(body(crc), 5, both)).toEqual(refused);
  const named = (name: string) => chunked(body(crc), 5, { 'x-amz-trailer': name });
  expect(await named('content-md5')).toEqual([400, 'InvalidRequest']);
  expect(await named('x-amz-meta-a')).toEqual([400, 'InvalidRequest']);
  expect(await named('x-amz-checksum-xxhash3')).toEqual([501, 'NotImplemented']);
  const contradicting = { ...announced, [CRC32]: crcOf('other') };
  expect(await chunked(body(crc), 5, contradicting)).toEqual([400, 'BadDigest']);
  expect([existsSync(path), temporaryIn(root)]).toEqual([false, []]);
  expect(await chunked(body(crc, sha), 5, both)).toEqual(STORED);
});

test('trailers have at most 16 KiB', async () => {
  const { chunked } = await prepared();
  const put = (length: number) => {
    const lines = `${CRC32}:${crcOf('a')}\r\nx-amz-trailer-signature:${'0'.repeat(length)}\r\n`;
    return chunked(`1\r\na\r\n0\r\n${lines}\r\n`, 1, { 'x-amz-trailer': CRC32 });
  };
  const most = 16 * 1024 - `${CRC32}:${crcOf('a')}x-amz-trailer-signature:`.length;
  expect(await put(most)).toEqual(STORED);
  expect(await put(most + 1)).toEqual([400, 'MalformedTrailerError']);
});

test('an aws-chunked body says how long it is', async () => {
  const { put } = await prepared();
  const body = '1\r\na\r\n0\r\n\r\n';
  const missing = [411, 'MissingContentLength'];
  expect(await put(body, { 'content-encoding': 'aws-chunked' })).toEqual(missing);
  expect(await put(body, { 'x-amz-content-sha256': STREAMING })).toEqual(missing);
  for (const length of ['', '-1', '1.0', 'one', '0x1'])
    expect([
      length,
      ...(await put(body, {
        'content-encoding': 'aws-chunked',
        'x-amz-decoded-content-length': length,
      })),
    ]).toEqual([length, 400, 'InvalidArgument']);
});

test('a checksum of the payload is one, and the right one', async () => {
  const { url, path, put } = await prepared();
  const hash = hashOf('hello');
  const right = hash.copy().digest('hex');
  const payload = (value: string, more = {}) =>
    put('hello', { 'x-amz-content-sha256': value, ...more });
  for (const value of ['zz', '', 'STREAMING-', `${right}0`, 'STREAMING-UNSIGNED-PAYLOAD'])
    expect([value, ...(await payload(value))]).toEqual([value, 400, 'InvalidArgument']);
  const mismatch = [400, 'XAmzContentSHA256Mismatch'];
  expect(await payload(hashOf('other').digest('hex'))).toEqual(mismatch);
  const declared = { 'x-amz-checksum-sha256': hashOf('other').digest('base64') };
  expect(await payload(right, declared)).toEqual([400, 'BadDigest']); // one does not hide the other
  const algorithm = { 'x-amz-sdk-checksum-algorithm': 'SHA256' };
  expect(await payload('UNSIGNED-PAYLOAD', algorithm)).toEqual([400, 'InvalidRequest']);
  const crc32 = { ...algorithm, 'x-amz-checksum-crc32': 'NhCmhg==' };
  expect(await payload('UNSIGNED-PAYLOAD', crc32)).toEqual([400, 'InvalidRequest']);
  expect(existsSync(path)).toBe(false);
  const both = { ...crc32, 'x-amz-checksum-sha256': hashOf('hello').digest('base64') };
  expect(await payload('UNSIGNED-PAYLOAD', both)).toEqual(STORED);
  const another = {
    'x-amz-sdk-checksum-algorithm': 'CRC32',
    'x-amz-checksum-sha256': hashOf('hello').digest('base64'),
  };
  expect(await payload('UNSIGNED-PAYLOAD', another)).toEqual(STORED); // as the SDK of JavaScript sends it
  expect(await payload(right.toUpperCase())).toEqual(STORED);
  expect(await payload('UNSIGNED-PAYLOAD')).toEqual(STORED);

  const created = await (await fetch(`${url}/b/u?uploads`, { method: 'POST' })).text();
  const [, id] = /<UploadId>(.*)<\/UploadId>/.exec(created) ?? [];
  const complete = await fetch(`${url}/b/u?uploadId=${id}`, {
    method: 'POST',
    body: '<Part><PartNumber>1</PartNumber><ETag>a</ETag></Part>',
    headers: { 'x-amz-content-sha256': right },
  });
  expect(await complete.text()).toContain('XAmzContentSHA256Mismatch');
});
