// examples/object-server: conditions and ranges of HTTP, and which files are objects.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { pattern } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import { MIB, openIn, serve, TCP } from '../support/object-server.js';
import { closed, crowd, stranger } from '../support/strangers.js';

const SIZE = 1000;

async function prepared() {
  const { folder, url, connect } = await serve(TCP, 1);
  writeFileSync(join(folder, 'object'), pattern(SIZE));
  const request = (method: string, headers: Record<string, string> = {}, name = 'object') =>
    fetch(`${url}/objects/${name}`, {
      ...{ method, headers },
      ...(method === 'PUT' && { body: 'new' }),
    });
  const status = async (...args: Parameters<typeof request>) => {
    const response = await request(...args);
    const text = await response.text();
    if (!response.ok) expect(text).not.toContain(folder);
    return response.status;
  };
  const validators = async () => {
    const { headers } = await request('HEAD');
    return { etag: headers.get('etag') ?? '', modified: headers.get('last-modified') ?? '' };
  };
  return { folder, url, connect, request, status, validators };
}

const PAST = 'Thu, 01 Jan 1970 00:00:00 GMT';
const FUTURE = 'Fri, 01 Jan 2100 00:00:00 GMT';

test.each([
  ['bytes=0-', 206, 0, 999],
  ['bytes=-3', 206, 997, 999],
  ['bytes=-5000', 206, 0, 999],
  ['bytes=2-100', 206, 2, 100],
  ['bytes=990-5000', 206, 990, 999],
  ['bytes=999-999', 206, 999, 999],
  ['bytes=0-4, 5-9', 206, 0, 9],
  ['bytes=0-4,10-14', 200, 0, 999],
  ['bytes=9-0', 200, 0, 999],
  ['bytes=a-b', 200, 0, 999],
  ['bytes=', 200, 0, 999],
  ['lines=0-1', 200, 0, 999],
  ['bytes=1000-', 416, 0, -1],
  ['bytes=-0', 416, 0, -1],
])('the range %j gives %i', async (range, status, start, end) => {
  const { request } = await prepared();
  const response = await request('GET', { range });
  expect(response.status).toBe(status);
  const of = response.headers.get('content-range');
  if (status === 416) expect(of).toBe('bytes */1000');
  else expect(of).toBe(status === 206 ? `bytes ${start}-${end}/1000` : null);
  if (status === 416) return;
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(bytes).toEqual(new Uint8Array(pattern(SIZE).subarray(start, end + 1)));
});

test('a range of an empty object is all of it, or none', async () => {
  const { folder, status } = await prepared();
  writeFileSync(join(folder, 'object'), '');
  expect(await status('GET', { range: 'bytes=-3' })).toBe(200);
  expect(await status('GET', { range: 'bytes=0-' })).toBe(416);
});

test('a range of another version is ignored', async () => {
  const { status, validators } = await prepared();
  const { etag, modified } = await validators();
  const range = 'bytes=0-9';
  for (const version of [etag, modified]) {
    expect(await status('GET', { range, 'if-range': version })).toBe(206);
  }
  for (const version of ['"other"', `W/${etag}`, PAST, FUTURE, 'x']) {
    expect(await status('GET', { range, 'if-range': version })).toBe(200);
  }
});

test.each(['GET', 'HEAD', 'PUT'])('%s obeys If-Match and If-Unmodified-Since', async (method) => {
  const { status, validators, folder } = await prepared();
  const { etag, modified } = await validators();
  const stale = [
    { 'if-match': '"other"' },
    { 'if-match': `W/${etag}` },
    { 'if-match': '' },
    { 'if-match': '"a", "b"' },
    { 'if-match': '"other"', 'if-unmodified-since': FUTURE },
    { 'if-unmodified-since': PAST },
  ];
  for (const headers of stale) {
    expect(await status(method, headers), JSON.stringify(headers)).toBe(412);
  }
  expect(readFileSync(join(folder, 'object'))).toEqual(Buffer.from(pattern(SIZE)));
  const holding = [
    { 'if-match': '*' },
    { 'if-match': etag },
    { 'if-match': `"a" , ${etag},"b"` },
    { 'if-unmodified-since': modified },
    { 'if-unmodified-since': 'no date' },
  ];
  for (const headers of holding) {
    const now = (await validators()).etag;
    const current = { ...headers } as Record<string, string>;
    if (current['if-match']?.includes(etag))
      current['if-match'] = headers['if-match']?.replace(etag, now) ?? '';
    if (current['if-unmodified-since'] === modified) current['if-unmodified-since'] = FUTURE;
    expect(await status(method, current), JSON.stringify(headers)).toBe(200);
  }
  expect(await status(method, { 'if-match': '*' }, 'none')).toBe(method === 'PUT' ? 412 : 404);
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
  expect(await status('PUT', { 'if-none-match': '*' }, 'other')).toBe(201);
  expect(await status('PUT', { 'if-none-match': '*' }, 'other')).toBe(412);
});

test('of 20 PUTs for one version, one replaces it', async () => {
  const { status, validators, folder } = await prepared();
  const { etag } = await validators();
  const all = await Promise.all(
    Array.from({ length: 20 }, () => status('PUT', { 'if-match': etag })),
  );
  expect(all.sort()).toEqual([200, ...new Array(19).fill(412)]);
  expect(readdirSync(folder)).toEqual(['object']);
});

test('a PUT whose object changes while its bytes arrive by the engine is refused', async () => {
  const { connect, validators, folder } = await prepared();
  const client = await connect();
  const { etag } = await validators();
  const memory = await client.engine.allocate(64 * MIB);
  const putting = client.put('object', memory, { headers: { 'if-match': etag } });
  putting.catch(() => {});
  await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(2), {
    timeout: HANG_MS,
    interval: 1,
  });
  writeFileSync(join(folder, 'x'), 'changed');
  renameSync(join(folder, 'x'), join(folder, 'object'));
  await expect(putting).rejects.toThrow('412');
  expect(readFileSync(join(folder, 'object'), 'utf8')).toBe('changed');
  expect(readdirSync(folder)).toEqual(['object']);
});

test('names are at most as long as those of files', async () => {
  const { status } = await prepared();
  const longest = 'n'.repeat(255);
  expect(await status('PUT', {}, longest)).toBe(201);
  expect(await status('GET', {}, longest)).toBe(200);
  for (const method of ['GET', 'HEAD', 'PUT']) {
    expect(await status(method, {}, `${longest}n`)).toBe(400);
    expect(await status(method, {}, 'n'.repeat(5000))).toBe(400);
  }
});

test('only regular files of the folder are objects', async () => {
  const { folder, status } = await prepared();
  const at = (name: string) => join(folder, name);
  execFileSync('mkfifo', [at('fifo')]);
  mkdirSync(at('folder'));
  symlinkSync('/etc/passwd', at('out'));
  symlinkSync('object', at('in'));
  symlinkSync('nothing', at('dangling'));
  const server = createServer().listen(at('socket'));
  onTestFinished(() => void server.close());
  await vi.waitFor(() => expect(readdirSync(folder)).toContain('socket'), { timeout: HANG_MS });
  for (const name of ['fifo', 'folder', 'out', 'in', 'dangling', 'socket']) {
    expect(await status('GET', {}, name), name).toBe(404);
    expect(await status('HEAD', {}, name), name).toBe(404);
    expect(await status('PUT', {}, name), name).toBe(409);
  }
  expect(openIn(folder)).toEqual([]);
});

test('clients that hold connections do not block others, and connections without a request are closed', async () => {
  const { url, status } = await prepared();
  const port = Number(new URL(url).port);
  const silent = await crowd(port);
  const slow = await stranger(port, Buffer.from('GET /objects/obj'));
  expect(await status('GET')).toBe(200);
  await Promise.all([...silent, slow].map(closed));
  expect(await status('GET')).toBe(200);
});
