// libfabric/objects: the forms of requests that the rules of HTTP and S3 name.
import { createHash } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { expect, test } from 'vitest';
import { serve } from '../support/object-stores.js';

test.each([
  ['content-md5', 'InvalidDigest', 16],
  ['x-amz-checksum-crc32', 'InvalidRequest', 4],
  ['x-amz-checksum-sha1', 'InvalidRequest', 20],
  ['x-amz-checksum-sha256', 'InvalidRequest', 32],
  ['x-amz-checksum-crc64nvme', 'InvalidRequest', 8],
] as const)(
  '%s that is no checksum gets %s, and a wrong one BadDigest',
  async (name, code, size) => {
    const { url } = await serve(undefined);
    const put = async (value: string) => {
      const answer = await fetch(`${url}/b/k`, {
        method: 'PUT',
        body: 'x',
        headers: { [name]: value },
      });
      return [answer.status, /<Code>(\w+)/.exec(await answer.text())?.[1]];
    };
    const wrong = Buffer.alloc(size, 1).toString('base64');
    const longer = Buffer.alloc(size + 1).toString('base64');
    for (const malformed of [
      '',
      'x',
      'nonsense!',
      longer,
      `${wrong}, ${wrong}`,
      wrong.slice(0, -2),
    ])
      expect([malformed, ...(await put(malformed))]).toEqual([malformed, 400, code]);
    expect(await put(wrong)).toEqual([400, 'BadDigest']);
  },
);

test('a right Content-MD5 is taken', async () => {
  const { url } = await serve(undefined);
  const headers = { 'content-md5': createHash('md5').update('x').digest('base64') };
  expect((await fetch(`${url}/b/k`, { method: 'PUT', body: 'x', headers })).status).toBe(200);
});

test('a target in absolute form is that of its path', async () => {
  const { url } = await serve(undefined);
  const { port } = new URL(url);
  const status = (method: string, path: string) =>
    new Promise((resolve, reject) => {
      const sent = requestHttp({ host: '127.0.0.1', port, method, path }, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode));
      });
      sent.on('error', reject).end();
    });
  for (const origin of ['http://host', 'HTTPS://host:1', url]) {
    expect(await status('PUT', `${origin}/b/key`)).toBe(200);
    expect(await status('GET', `${origin}/b/key`)).toBe(200);
    expect(await status('DELETE', `${origin}/b/key`)).toBe(204);
    expect(await status('GET', `${origin}/b?list-type=2`)).toBe(200);
    for (const end of ['', '/', '?prefix=b'])
      expect(await status('GET', `${origin}${end}`)).toBe(200);
  }
  for (const path of ['b/key', 'ftp://host/b', '*']) expect(await status('GET', path)).toBe(400);
});

test('list() and head() give the same times', async () => {
  const { connect } = await serve(undefined);
  const client = await connect();
  await client.put('key', 'bytes');
  const { lastModified } = await client.head('key');
  for await (const entry of client.list()) expect(entry).toMatchObject({ lastModified });
});
