// libfabric/objects: the checksums and the size that the requests of a multipart upload have are compared with its bytes.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';
import { native } from '../../dist/contract/native.js';
import { hashOfBytes } from '../../dist/objects/hash-thread.js';
import { pattern } from '../support/bytes.js';
import { openIn, serve, temporaryIn } from '../support/object-stores.js';

/** Bit by bit, by the definition. */
function crc32cOf(bytes: Uint8Array): number {
  let rest = ~0;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0x82f6_3b78 : 0);
  }
  return ~rest >>> 0;
}

const inFour = (value: number) => {
  const four = Buffer.alloc(4);
  four.writeUInt32BE(value);
  return four.toString('base64');
};

const ALGORITHMS = ['CRC32', 'CRC32C', 'SHA1', 'SHA256', 'CRC64NVME'] as const;
type Algorithm = (typeof ALGORITHMS)[number];

function checksumOf(algorithm: Algorithm, bytes: Uint8Array): string {
  if (algorithm === 'CRC32') return inFour(crc32(bytes));
  if (algorithm === 'CRC32C') return inFour(crc32cOf(bytes));
  if (algorithm !== 'CRC64NVME') return createHash(algorithm).update(bytes).digest('base64');
  const eight = Buffer.alloc(8);
  eight.writeBigUInt64BE(native.crc64Now(bytes, 0n));
  return eight.toString('base64');
}

const PARTS = [Buffer.from('first part'), Buffer.from('second'), Buffer.alloc(0)];
const WHOLE = Buffer.concat(PARTS);
const compositeOf = (algorithm: Algorithm) =>
  checksumOf(
    algorithm,
    Buffer.concat(PARTS.map((part) => Buffer.from(checksumOf(algorithm, part), 'base64'))),
  );

async function prepared() {
  const { root, folder, url } = await serve(undefined);
  const send = async (method: string, query: string, headers = {}, body?: string | Uint8Array) => {
    const response = await fetch(`${url}/b/key?${query}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    const [, code] = /<Code>(\w+)</.exec(text) ?? [];
    return { status: response.status, code, text, headers: response.headers };
  };
  /** An upload with all its parts, and what completes it. */
  const uploaded = async (headers = {}, ofPart: (part: Buffer) => object = () => ({})) => {
    const created = await send('POST', 'uploads', headers);
    const [, id] = /<UploadId>(.*)<\/UploadId>/.exec(created.text) ?? [];
    const etags: (string | null)[] = [];
    for (const [i, part] of PARTS.entries()) {
      const answer = await send('PUT', `partNumber=${i + 1}&uploadId=${id}`, ofPart(part), part);
      expect([answer.status, answer.code]).toEqual([200, undefined]);
      etags.push(answer.headers.get('etag'));
    }
    const complete = (more: object = {}, listed: (i: number) => string = () => '') => {
      const list = etags.map(
        (etag, i) =>
          `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag>${listed(i)}</Part>`,
      );
      return send('POST', `uploadId=${id}`, more, `<C>${list.join('')}</C>`);
    };
    return { id, complete, created };
  };
  return { root, folder, url, send, uploaded };
}

test('CRC-32C has the value of its definition, for all lengths', async () => {
  expect(await hashOfBytes('crc32c', Buffer.from('123456789'))).toBe(inFour(0xe306_9283));
  for (let length = 0; length < 40; length++) {
    const bytes = pattern(length, length);
    expect(await hashOfBytes('crc32c', bytes), `${length} bytes`).toBe(inFour(crc32cOf(bytes)));
  }
});

const headerOf = (algorithm: Algorithm) => `x-amz-checksum-${algorithm.toLowerCase()}`;

test.each(
  ALGORITHMS.flatMap(
    (algorithm) =>
      [
        [algorithm, true],
        [algorithm, false],
      ] as const,
  ),
)(
  'the %s of each part in a list is compared (checksums with the parts: %s)',
  async (algorithm, sent) => {
    const { root, folder, uploaded } = await prepared();
    const ofPart = (part: Buffer) =>
      sent ? { [headerOf(algorithm)]: checksumOf(algorithm, part) } : {};
    const { complete } = await uploaded({ 'x-amz-checksum-algorithm': algorithm }, ofPart);
    const right = (i: number) => checksumOf(algorithm, PARTS[i] as Buffer);
    const element = (text: string) => `<Checksum${algorithm}>${text}</Checksum${algorithm}>`;
    const others = ['', 'x', checksumOf(algorithm, Buffer.from('x')), right(0).slice(1)];
    for (const wrong of others)
      for (const at of [1, 2]) {
        const answer = await complete({}, (i) => element(i === at ? wrong : right(i)));
        expect([wrong, at, answer.status, answer.code]).toEqual([wrong, at, 400, 'InvalidPart']);
        expect(answer.text).toContain(`of part ${at + 1} is`);
      }
    expect([readdirSync(folder), temporaryIn(root), openIn(root)]).toEqual([[], [], [root]]);
    expect((await complete({}, (i) => ` ${element(` ${right(i)} `)} `)).status).toBe(200);
    expect(readFileSync(join(folder, 'key'), 'utf8')).toBe(String(WHOLE));
  },
);

const TYPES = ALGORITHMS.flatMap((algorithm) => [
  ...(algorithm.startsWith('CRC') ? [[algorithm, 'FULL_OBJECT'] as const] : []),
  ...(algorithm === 'CRC64NVME' ? [] : [[algorithm, 'COMPOSITE'] as const]),
]);

test.each(TYPES)('the %s of the object in a header is compared: %s', async (algorithm, type) => {
  const { folder, uploaded } = await prepared();
  const created = { 'x-amz-checksum-algorithm': algorithm, 'x-amz-checksum-type': type };
  const composite = algorithm === 'CRC64NVME' ? 'x' : compositeOf(algorithm);
  const whole = checksumOf(algorithm, WHOLE);
  const [right, wrong] =
    type === 'COMPOSITE'
      ? [
          [composite, `${composite}-3`],
          ['', whole, `${composite}-2`, `${whole}-3`],
        ]
      : [[whole], ['', composite, `${whole}-3`, whole.slice(1)]];
  const { complete, created: answer } = await uploaded(created);
  for (const [name, value] of Object.entries(created)) expect(answer.headers.get(name)).toBe(value);
  for (const value of wrong) {
    const { status } = await complete({ [headerOf(algorithm)]: value });
    expect([value, status]).toEqual([value, 400]);
  }
  const other = type === 'COMPOSITE' ? 'FULL_OBJECT' : 'COMPOSITE';
  const contradicting = { [headerOf(algorithm)]: right[0], 'x-amz-checksum-type': other };
  expect((await complete(contradicting)).code).toBe('InvalidRequest');
  expect(readdirSync(folder)).toEqual([]);
  for (const value of right) {
    const again = await uploaded(created);
    const { status } = await again.complete({ [headerOf(algorithm)]: value });
    expect([value, status]).toEqual([value, 200]);
  }
});

test('x-amz-mp-object-size is that of the object', async () => {
  const { root, folder, uploaded } = await prepared();
  const { complete } = await uploaded();
  const sized = (size: number | string) => complete({ 'x-amz-mp-object-size': String(size) });
  for (const [size, code] of [
    [WHOLE.length - 1, 'InvalidRequest'],
    [WHOLE.length + 1, 'InvalidRequest'],
    [0, 'InvalidRequest'],
    ['0x10', 'InvalidArgument'],
  ] as const) {
    const answer = await sized(size);
    expect([size, answer.status, answer.code]).toEqual([size, 400, code]);
  }
  expect([readdirSync(folder), temporaryIn(root)]).toEqual([[], []]);
  expect((await sized(WHOLE.length)).status).toBe(200);
});

test('what would not be checked is refused', async () => {
  const { folder, send, uploaded } = await prepared();
  const algorithm = (name: string, type?: string) => ({
    'x-amz-checksum-algorithm': name,
    ...(type && { 'x-amz-checksum-type': type }),
  });
  for (const headers of [
    algorithm('XXHASH64'),
    algorithm('MD5'),
    algorithm(''),
    algorithm('SHA256', 'FULL_OBJECT'),
    algorithm('CRC64NVME', 'COMPOSITE'),
    algorithm('CRC32', 'x'),
    { 'x-amz-checksum-type': 'COMPOSITE' },
  ]) {
    const { status, code } = await send('POST', 'uploads', headers);
    expect([headers, status, code]).toEqual([headers, 400, 'InvalidRequest']);
  }
  const { id, complete } = await uploaded(algorithm('crc32c'));
  const part = (headers: object) =>
    send('PUT', `partNumber=9&uploadId=${id}`, headers, PARTS[0] as Buffer);
  const crc32 = checksumOf('CRC32', PARTS[0] as Buffer);
  expect((await part({ [headerOf('CRC32')]: crc32 })).code).toBe('InvalidRequest');
  expect((await part({ 'x-amz-checksum-xxhash64': 'x' })).status).toBe(501);
  expect((await send('PUT', '', { 'x-amz-checksum-sha512': 'x' }, 'x')).status).toBe(501);
  expect((await complete({ 'x-amz-checksum-md5': 'x' })).status).toBe(501);
  const listed = '<ChecksumXXHASH3>x</ChecksumXXHASH3>';
  expect((await complete({}, () => listed)).status).toBe(501);
  expect(readdirSync(folder)).toEqual([]);
  expect((await complete()).status).toBe(200);
});

test('@aws-sdk/client-s3 gets the checksum of an object that it has put, and completes with those of the parts', async () => {
  const { url } = await prepared();
  const s3 = new S3Client({
    ...{ endpoint: url, forcePathStyle: true, region: 'us-east-1' },
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  });
  onTestFinished(() => s3.destroy());
  const of = { Bucket: 'b', Key: 'sdk' };
  for (const ChecksumAlgorithm of ALGORITHMS) {
    const put = await s3.send(new PutObjectCommand({ ...of, Body: 'body', ChecksumAlgorithm }));
    const name = `Checksum${ChecksumAlgorithm}` as const;
    expect(put[name]).toBe(checksumOf(ChecksumAlgorithm, Buffer.from('body')));
    const got = await s3.send(new GetObjectCommand({ ...of, ChecksumMode: 'ENABLED' }));
    expect([got[name], await got.Body?.transformToString()]).toEqual([put[name], 'body']);
    const create = new CreateMultipartUploadCommand({ ...of, ChecksumAlgorithm });
    const { UploadId } = await s3.send(create);
    const Parts: Record<string, unknown>[] = [];
    for (const [i, Body] of PARTS.slice(0, 2).entries()) {
      const part = { ...of, UploadId, PartNumber: i + 1, Body, ChecksumAlgorithm };
      const { ETag, [name]: checksum } = await s3.send(new UploadPartCommand(part));
      Parts.push({ PartNumber: i + 1, ETag, [name]: checksum });
    }
    const complete = (listed: object[]) =>
      s3.send(
        new CompleteMultipartUploadCommand({ ...of, UploadId, MultipartUpload: { Parts: listed } }),
      );
    const wrong = Parts.map((part) => ({ ...part, [name]: Parts[0]?.[name] }));
    await expect(complete(wrong)).rejects.toMatchObject({ name: 'InvalidPart' });
    await complete(Parts);
  }
});
