// libfabric/objects: what clients of S3 send. Without an engine, over HTTP.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { MIB, openIn, serve, temporaryIn } from '../support/object-stores.js';

process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

async function prepared() {
  const { root, folder, url } = await serve(undefined);
  const s3 = new S3Client({
    endpoint: url,
    forcePathStyle: true,
    region: 'us-east-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  });
  onTestFinished(() => s3.destroy());
  const Bucket = 'b';
  const bytesOf = async (Key: string) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
    return Body?.transformToByteArray() as Promise<Uint8Array>;
  };
  return { root, folder, url, s3, Bucket, bytesOf };
}

test('@aws-sdk/client-s3 puts, gets, describes, lists and deletes objects', async () => {
  const { folder, s3, Bucket, bytesOf } = await prepared();
  await s3.send(new CreateBucketCommand({ Bucket: 'other' }));
  const Key = 'a/b c+d&é.bin';
  const Body = pattern(200_000);
  const { ETag } = await s3.send(new PutObjectCommand({ Bucket, Key, Body }));
  expect(same(readFileSync(join(folder, Key)), Body)).toBe(true);
  expect(same(await bytesOf(Key), Body)).toBe(true);
  const head = await s3.send(new HeadObjectCommand({ Bucket, Key }));
  expect(head).toMatchObject({ ETag, ContentLength: Body.length });
  const Range = 'bytes=5-9';
  const part = await s3.send(new GetObjectCommand({ Bucket, Key, Range }));
  expect(part.ContentRange).toBe('bytes 5-9/200000');
  const list = await s3.send(new ListObjectsV2Command({ Bucket, Delimiter: '/' }));
  expect(list).toMatchObject({ CommonPrefixes: [{ Prefix: 'a/' }], KeyCount: 1 });
  await s3.send(new DeleteObjectCommand({ Bucket, Key }));
  const missing = s3.send(new GetObjectCommand({ Bucket, Key }));
  await expect(missing).rejects.toMatchObject({ name: 'NoSuchKey' });
  const exists = new PutObjectCommand({ Bucket, Key, Body: 'x', IfNoneMatch: '*' });
  await s3.send(exists);
  await expect(s3.send(exists)).rejects.toMatchObject({ name: 'PreconditionFailed' });
});

test('@aws-sdk/client-s3 streams with each checksum that the server knows', async () => {
  const { s3, Bucket, bytesOf } = await prepared();
  const bytes = pattern(MIB + 1);
  for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const) {
    const Body = Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)]);
    const put = { Bucket, Key: ChecksumAlgorithm, Body, ChecksumAlgorithm };
    await s3.send(new PutObjectCommand({ ...put, ContentLength: bytes.length }));
    expect(same(await bytesOf(ChecksumAlgorithm), bytes)).toBe(true);
  }
});

test('@aws-sdk/client-s3 uploads in parts, in any order', async () => {
  const { root, s3, Bucket, bytesOf } = await prepared();
  const Key = 'parts/object';
  const of = { Bucket, Key };
  const bytes = pattern(3 * 100_000);
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(of));
  const upload = async (PartNumber: number, Body: Uint8Array) => {
    const part = { ...of, UploadId, PartNumber, Body };
    const { ETag } = await s3.send(new UploadPartCommand(part));
    return { PartNumber, ETag };
  };
  const third = await upload(3, bytes.subarray(200_000));
  const first = await upload(1, bytes.subarray(0, 100_000));
  const second = await upload(2, bytes.subarray(100_000, 200_000));
  const complete = (Parts: object[]) =>
    s3.send(new CompleteMultipartUploadCommand({ ...of, UploadId, MultipartUpload: { Parts } }));
  await expect(complete([{ ...first, ETag: '"x"' }])).rejects.toMatchObject({
    name: 'InvalidPart',
  });
  await expect(complete([{ ...first, PartNumber: 9 }])).rejects.toMatchObject({
    name: 'InvalidPart',
  });
  await expect(complete([second, first])).rejects.toMatchObject({ name: 'InvalidPartOrder' });
  await complete([first, second, third]);
  expect(same(await bytesOf(Key), bytes)).toBe(true);
  await expect(complete([first])).rejects.toMatchObject({ name: 'NoSuchUpload' });

  const aborted = await s3.send(new CreateMultipartUploadCommand(of));
  await s3.send(new AbortMultipartUploadCommand({ ...of, UploadId: aborted.UploadId }));
  const late = { ...of, UploadId: aborted.UploadId, PartNumber: 1, Body: 'x' };
  await expect(s3.send(new UploadPartCommand(late))).rejects.toMatchObject({
    name: 'NoSuchUpload',
  });
  const escaping = { ...of, UploadId: '../../b', PartNumber: 1, Body: 'x' };
  await expect(s3.send(new UploadPartCommand(escaping))).rejects.toMatchObject({
    name: 'NoSuchUpload',
  });
  expect([temporaryIn(root), openIn(root).length]).toEqual([[], 1]); // the root itself
});

test('curl puts and gets', async (context) => {
  if (spawnSync('curl', ['--version']).error) return context.skip('needs curl');
  const { folder, url } = await prepared();
  const file = join(folder, '..', 'source');
  writeFileSync(file, pattern(MIB));
  const curl = (...args: string[]) =>
    promisify(execFile)('curl', ['-sS', '--fail-with-body', ...args]);
  await curl('-T', file, `${url}/b/from/curl`);
  expect(same(readFileSync(join(folder, 'from/curl')), pattern(MIB))).toBe(true);
  await curl('-T', file, '-H', 'transfer-encoding: chunked', `${url}/b/chunked`);
  await curl('-o', `${file}.got`, `${url}/b/chunked`);
  expect(same(readFileSync(`${file}.got`), pattern(MIB))).toBe(true);
  await expect(curl(`${url}/b/none`)).rejects.toMatchObject({
    stdout: expect.stringContaining('<Code>NoSuchKey</Code>'),
  });
});

test('XML is escaped, and malformed XML is refused', async () => {
  const { url, s3, Bucket } = await prepared();
  const Key = `<&>"'\u0001é`;
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
  const list = await s3.send(new ListObjectsV2Command({ Bucket, EncodingType: 'url' }));
  expect(list.Contents?.map((each) => decodeURIComponent(each.Key ?? ''))).toEqual([Key]);
  const plain = await (await fetch(`${url}/b?list-type=2`)).text();
  expect(plain).toContain('<Key>&lt;&amp;&gt;&quot;&apos;&#x1;é</Key>');
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k' }));
  for (const body of [
    '',
    '<a>',
    '<Part>',
    '<Part></Part>',
    '<!DOCTYPE x><Part>',
    '<Part><PartNumber>x</PartNumber><ETag>"</ETag></Part>',
  ]) {
    const { status } = await fetch(`${url}/b/k?uploadId=${UploadId}`, { method: 'POST', body });
    expect([body, status]).toEqual([body, 400]);
  }
});
