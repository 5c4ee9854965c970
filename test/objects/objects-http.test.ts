// libfabric/objects: conditions and ranges of HTTP.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { pattern } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import { connectWithEngine, MIB, serve, TCP, temporaryIn } from '../support/object-stores.js';
import { closed, crowd, stranger } from '../support/strangers.js';

const SIZE = 1000;

async function prepared() {
  const { root, folder, url } = await serve(undefined);
  writeFileSync(join(folder, 'object'), pattern(SIZE));
  const request = (method: string, headers: Record<string, string> = {}, name = 'object') =>
    fetch(`${url}/b/${name}`, {
      ...{ method, headers },
      ...(method === 'PUT' && { body: 'new' }),
    });
  const status = async (...args: Parameters<typeof request>) => {
    const response = await request(...args);
    const text = await response.text();
    if (!response.ok) expect(text).not.toContain(root);
    return response.status;
  };
  const validators = async () => {
    const { headers } = await request('HEAD');
    return { etag: headers.get('etag') ?? '', modified: headers.get('last-modified') ?? '' };
  };
  return { root, folder, url, request, status, validators };
}

const PAST = 'Thu, 01 Jan 1970 00:00:00 GMT';
const FUTURE = 'Fri, 01 Jan 2100 00:00:00 GMT';

test('ranges are those of HTTP', async () => {
  const { request } = await prepared();
  const cases: [range: string, status: number, start: number, end: number][] = [
    ['bytes=0-', 206, 0, 999],
    ['bytes=-3', 206, 997, 999],
    ['bytes=-5000', 206, 0, 999],
    ['bytes=2-100', 206, 2, 100],
    ['bytes=990-5000', 206, 990, 999],
    ['bytes=999-999', 206, 999, 999],
    ['bytes=0-4,10-14', 200, 0, 999],
    ['bytes=9-0', 200, 0, 999],
    ['bytes=a-b', 200, 0, 999],
    ['bytes=', 200, 0, 999],
    ['lines=0-1', 200, 0, 999],
    ['bytes=1000-', 416, 0, -1],
    ['bytes=-0', 416, 0, -1],
  ];
  for (const [range, status, start, end] of cases) {
    const response = await request('GET', { range });
    const of = response.headers.get('content-range');
    const wanted = { 200: null, 206: `bytes ${start}-${end}/1000`, 416: 'bytes */1000' }[status];
    expect([range, response.status, of]).toEqual([range, status, wanted]);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (status !== 416) expect(bytes).toEqual(pattern(SIZE).slice(start, end + 1));
  }
});

test('an empty object has no range', async () => {
  const { folder, status } = await prepared();
  writeFileSync(join(folder, 'object'), '');
  for (const range of ['bytes=-3', 'bytes=-0', 'bytes=0-', 'bytes=0-0'])
    for (const method of ['GET', 'HEAD']) expect(await status(method, { range })).toBe(416);
});

test('a range of another version is ignored', async () => {
  const { status, validators } = await prepared();
  const { etag, modified } = await validators();
  const range = 'bytes=0-9';
  for (const version of [etag, modified])
    expect(await status('GET', { range, 'if-range': version })).toBe(206);
  for (const version of ['"other"', `W/${etag}`, PAST, FUTURE, 'x'])
    expect(await status('GET', { range, 'if-range': version })).toBe(200);
});

test.each(['GET', 'HEAD', 'PUT'])('%s obeys If-Match and If-Unmodified-Since', async (method) => {
  const { status, validators, folder } = await prepared();
  const { etag, modified } = await validators();
  const stale: Record<string, string>[] = [
    { 'if-match': '"other"' },
    { 'if-match': `W/${etag}` },
    { 'if-match': '' },
    { 'if-match': '"a", "b"' },
    { 'if-match': '"other"', 'if-unmodified-since': FUTURE },
    { 'if-unmodified-since': PAST },
  ];
  for (const headers of stale)
    expect(await status(method, headers), JSON.stringify(headers)).toBe(412);
  expect(readFileSync(join(folder, 'object'))).toEqual(Buffer.from(pattern(SIZE)));
  const holding: Record<string, string>[] = [
    { 'if-match': '*' },
    { 'if-match': etag },
    { 'if-match': etag.slice(1, -1) },
    { 'if-match': `"a" , ${etag},"b"` },
    { 'if-unmodified-since': modified },
    { 'if-unmodified-since': 'no date' },
  ];
  for (const headers of holding) {
    const now = (await validators()).etag;
    const match = headers['if-match']?.replace(etag.slice(1, -1), now.slice(1, -1));
    const current = {
      ...headers,
      ...(match && { 'if-match': match }),
      ...(headers['if-unmodified-since'] === modified && { 'if-unmodified-since': FUTURE }),
    };
    expect(await status(method, current), JSON.stringify(headers)).toBe(200);
  }
  for (const match of ['*', '"a"'])
    expect(await status(method, { 'if-match': match }, 'none')).toBe(404);
});

test('a GET of a version that the client has gives 304, without the object', async () => {
  const { request, status, validators } = await prepared();
  const { etag, modified } = await validators();
  for (const headers of [
    { 'if-none-match': etag },
    { 'if-none-match': `"a", W/${etag}` },
    { 'if-none-match': '*' },
    { 'if-modified-since': modified },
  ] as Record<string, string>[]) {
    const response = await request('GET', headers);
    expect([response.status, response.headers.get('etag')]).toEqual([304, etag]);
    expect(await response.text()).toBe('');
  }
  expect(await status('GET', { 'if-none-match': '"other"' })).toBe(200);
  expect(await status('GET', { 'if-none-match': '"other"', 'if-modified-since': FUTURE })).toBe(
    200,
  );
});

test('a PUT with If-None-Match makes an object, and replaces none', async () => {
  const { status, validators } = await prepared();
  const { etag } = await validators();
  expect(await status('PUT', { 'if-none-match': '*' })).toBe(412);
  expect(await status('PUT', { 'if-none-match': `W/${etag}` })).toBe(412);
  expect(await status('PUT', { 'if-none-match': '*' }, 'other')).toBe(200);
  expect(await status('PUT', { 'if-none-match': '*' }, 'other')).toBe(412);
});

test('of 20 PUTs and DELETEs for one version, one wins', async () => {
  const { root, status, validators, folder } = await prepared();
  const { etag } = await validators();
  const all = await Promise.all(
    Array.from({ length: 20 }, () => status('PUT', { 'if-match': etag })),
  );
  expect(all.sort()).toEqual([200, ...new Array(19).fill(412)]);
  const now = (await validators()).etag;
  const ends = await Promise.all(
    Array.from({ length: 20 }, () => status('DELETE', { 'if-match': now })),
  );
  expect(ends.sort()).toEqual([204, ...new Array(19).fill(404)]);
  expect([readdirSync(folder), temporaryIn(root)]).toEqual([[], []]);
});

test('versions that follow each other at once have different ETags', async () => {
  const { request } = await prepared();
  const tags = new Set<string | null>();
  for (let i = 0; i < 20; i++) tags.add((await request('PUT')).headers.get('etag'));
  expect(tags.size).toBe(20);
});

test('a reader sees the old object or the new one', async () => {
  const { url } = await prepared();
  const versions = [1, 2, 3, 4].map((seed) => pattern(MIB, seed));
  const hash = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex');
  const known = versions.map(hash);
  const put = async (body: Uint8Array) =>
    void (await (await fetch(`${url}/b/object`, { method: 'PUT', body })).text());
  await put(versions[0] as Uint8Array);
  let isOver = false;
  const writing = (async () => {
    for (const body of versions) await put(body);
    isOver = true;
  })();
  while (!isOver) {
    const got = new Uint8Array(await (await fetch(`${url}/b/object`)).arrayBuffer());
    expect(known).toContain(hash(got));
  }
  await writing;
});

test('a PUT whose object changes while its bytes arrive over the fabric is refused', async () => {
  const { root, folder, url } = await serve(TCP, { pieceSize: MIB });
  const { client, engine } = await connectWithEngine(url, TCP);
  const { etag } = await client.put('object', 'first');
  const memory = await engine.allocate(32 * MIB);
  const putting = client.put('object', memory, { ifMatch: etag });
  putting.catch(() => {});
  await vi.waitFor(() => expect(temporaryIn(root)).toHaveLength(1), {
    ...{ timeout: HANG_MS, interval: 1 },
  });
  writeFileSync(join(folder, 'x'), 'changed');
  renameSync(join(folder, 'x'), join(folder, 'object'));
  await expect(putting).rejects.toMatchObject({ code: 'PreconditionFailed', status: 412 });
  expect(readFileSync(join(folder, 'object'), 'utf8')).toBe('changed');
  expect([readdirSync(folder), temporaryIn(root)]).toEqual([['object'], []]);
});

test('clients that hold connections do not block others', async () => {
  const { url, status } = await prepared();
  const port = Number(new URL(url).port);
  await crowd(port);
  const slow = await stranger(port, Buffer.from('GET /b/obj'));
  expect(await status('GET')).toBe(200);
  slow.destroy();
  await closed(slow);
});

test('numbers of headers are decimal digits, and dates are those of HTTP', async () => {
  const { request, status } = await prepared();
  for (const number of ['1e1', '0x2', '+3', '5.0', '-1', 'all']) {
    const inline = await request('GET', { 'x-libfabric-inline': number });
    const decoded = await request('PUT', { 'x-amz-decoded-content-length': number }, 'x');
    expect([number, inline.status, decoded.status]).toEqual([number, 400, 400]);
  }
  for (const date of ['1', '2001', '2001-01-01']) {
    expect(await status('GET', { 'if-unmodified-since': date })).toBe(200);
    expect(await status('GET', { 'if-modified-since': date.replace('2001', '2999') })).toBe(200);
  }
});
