// libfabric/objects: keys are files of the bucket, and no request reaches anything else.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request as requestHttp } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { HANG_MS } from '../support/limits.js';
import { openIn, serve, temporaryIn } from '../support/object-stores.js';

async function prepared() {
  const { root, folder, url, connect } = await serve(undefined);
  // fetch() normalizes paths, and this does not.
  const answer = (method: string, path: string) =>
    new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const { port } = new URL(url);
      const sent = requestHttp({ host: '127.0.0.1', port, method, path }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (more) => {
          text += more;
        });
        response.on('end', () => resolve({ status: response.statusCode, text }));
      });
      sent.on('error', reject).end(method === 'PUT' ? 'new' : undefined);
    });
  const status = async (method: string, path: string) => {
    const { status, text } = await answer(method, path);
    expect(text).not.toContain(root);
    return status;
  };
  return { root, folder, answer, status, connect, port: Number(new URL(url).port) };
}

test('a key is the file of that name, in folders for its slashes', async () => {
  const { folder, connect } = await prepared();
  const client = await connect();
  const keys = [
    'a',
    'b/c/d',
    'with space',
    'a+b&c=d?e#f%g',
    'ü/日本',
    '.hidden',
    '\\back',
    '😀',
    '\'"<>',
  ];
  for (const key of keys) {
    await client.put(key, key);
    expect(readFileSync(join(folder, key), 'utf8')).toBe(key);
    expect(Buffer.from((await client.get(key)).bytes).toString()).toBe(key);
  }
  await client.delete('b/c/d');
  expect(existsSync(join(folder, 'b'))).toBe(false);
  await client.delete('b/c/d');
  await expect(client.get('b/c/d')).rejects.toMatchObject({ code: 'NoSuchKey', status: 404 });
  await expect(client.head('b/c/d')).rejects.toMatchObject({ code: 'NoSuchKey', key: 'b/c/d' });
});

test('keys are their bytes: composed and decomposed characters, and the longest', async () => {
  const { root, folder, status, connect } = await prepared();
  const client = await connect();
  const keys = [
    '\u00e9',
    'e\u0301',
    '\u1e9b\u0323',
    '\ufb01',
    'fi',
    '\u200b',
    '\u202e',
    '\ufeff',
    'A',
    'a',
  ];
  const long = [
    '\u00e9'.repeat(127),
    '\u65e5'.repeat(85),
    '\u{1f600}'.repeat(63),
    'n',
    'n'.repeat(100),
  ].join('/');
  const longest = `${long}/${'n'.repeat(1024 - Buffer.byteLength(long) - 1)}`;
  keys.push(longest);
  for (const key of keys) await client.put(key, key);
  for (const key of keys) expect(Buffer.from((await client.get(key)).bytes).toString()).toBe(key);
  expect(readdirSync(folder)).toHaveLength(keys.length);
  expect(Buffer.byteLength(longest)).toBe(1024);
  const wrong = [
    `${longest}n`,
    '\u00e9'.repeat(128),
    'a\ud800',
    '\udc00a',
    'a/./b',
    'a/../b',
    'a//b',
  ];
  for (const key of wrong)
    await expect(client.put(key, ''), key).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' });
  const encoded = (key: string) => `/b/${key.split('/').map(encodeURIComponent).join('/')}`;
  for (const path of [encoded(`${longest}n`), encoded('\u00e9'.repeat(128))])
    expect(await status('PUT', path)).toBe(400);
  for (const path of ['/b/%ed%a0%80', '/b/%c3', '/b/e%cc', '/b/%f4%90%80%80'])
    expect([path, await status('PUT', path)]).toEqual([path, 400]);
  expect(temporaryIn(root)).toEqual([]);
});

test('a path that leads out of the bucket is refused', async () => {
  const { root, folder, status, connect } = await prepared();
  writeFileSync(join(root, 'secret'), 'secret');
  const paths = [
    ...['/b/../secret', '/b/%2e%2e/secret', '/b/%2E%2E%2Fsecret', '/b/a/../../secret', '/b/..'],
    ...['/../secret', '/b//etc/passwd', '/b/%2Fetc%2Fpasswd', '/b/./a', '/b/a/', '/b/a%2F%2Fb'],
    ...['/b/a%00', '/b/%', '/b/%zz', '/b/%ff', '/b/%c0%ae%c0%ae/secret', '/.libfabric/temporary'],
    ...['/%2e%2e/secret', '/.', '/..', '/b%2Fc/d', `/${'x'.repeat(64)}/a`],
    ...[`/b/${'n'.repeat(256)}`, `/b/${'n/'.repeat(512)}n`],
  ];
  for (const path of paths)
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE'])
      expect([path, method, await status(method, path)]).toEqual([path, method, 400]);
  expect(await status('GET', 'http://x/b/../secret')).toBe(400); // with the absolute form, too
  expect(await status('GET', '/none/a')).toBe(404);
  expect(await status('PUT', '/none/a')).toBe(404);
  expect(await status('PUT', `/b/${'n'.repeat(255)}`)).toBe(200);
  expect([readdirSync(folder), temporaryIn(root)]).toEqual([['n'.repeat(255)], []]);
  const client = await connect();
  for (const key of ['', '/', '..', 'a/../b', 'a//b', 'a\0', '\ud800', 'n'.repeat(256)])
    await expect(client.get(key), key).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' });
});

test('only regular files are objects, and links are not followed anywhere in a path', async () => {
  const { root, folder, status } = await prepared();
  const at = (name: string) => join(folder, name);
  mkdirSync(join(root, 'outside'));
  writeFileSync(join(root, 'outside', 'file'), 'secret');
  writeFileSync(at('object'), 'object');
  mkdirSync(at('folder'));
  writeFileSync(at('folder/object'), '');
  execFileSync('mkfifo', [at('fifo')]);
  symlinkSync('/etc/passwd', at('out'));
  symlinkSync('object', at('in'));
  symlinkSync('nothing', at('dangling'));
  symlinkSync('../outside', at('linked'));
  symlinkSync('folder', at('inner'));
  symlinkSync('b', join(root, 'link-of-bucket'));
  const server = createServer().listen(at('socket'));
  onTestFinished(() => void server.close());
  await vi.waitFor(() => expect(readdirSync(folder)).toContain('socket'), { timeout: HANG_MS });
  const names = ['fifo', 'folder', 'out', 'in', 'dangling', 'socket', 'linked/file', 'inner/x'];
  for (const name of [...names, 'object/x']) {
    expect([name, await status('GET', `/b/${name}`)]).toEqual([name, 404]);
    expect([name, await status('HEAD', `/b/${name}`)]).toEqual([name, 404]);
    expect([name, await status('PUT', `/b/${name}`)]).toEqual([name, 409]);
    expect([name, await status('DELETE', `/b/${name}`)]).toEqual([name, 204]);
  }
  expect(await status('GET', '/link-of-bucket/object')).toBe(404);
  expect(await status('PUT', '/link-of-bucket/object')).toBe(404);
  expect(await status('GET', '/b/object')).toBe(200);
  expect(readFileSync(join(root, 'outside', 'file'), 'utf8')).toBe('secret');
  expect(readdirSync(join(root, 'outside'))).toEqual(['file']);
  expect([openIn(folder), temporaryIn(root)]).toEqual([[], []]);
});

test('a key cannot be an object and a folder', async () => {
  const { connect } = await prepared();
  const client = await connect();
  await client.put('a/b', '1');
  const conflict = { code: 'KeyConflict', status: 409 };
  await expect(client.put('a', '2')).rejects.toMatchObject(conflict);
  await expect(client.put('a/b/c', '2')).rejects.toMatchObject(conflict);
  await client.delete('a/b');
  await client.put('a', '2');
  await expect(client.put('a/b', '1')).rejects.toMatchObject(conflict);
});

test('conditions on a key that is no object count as those of a missing object; its PUT is a conflict', async () => {
  const { root, folder, port, connect } = await prepared();
  const client = await connect();
  await client.put('a/b', '1');
  symlinkSync('a/b', join(folder, 'link'));
  const send = async (method: string, path: string, headers = {}, body = '') => {
    const url = `http://127.0.0.1:${port}/b/${path}`;
    const response = await fetch(url, { method, headers, ...(method.startsWith('P') && { body }) });
    return { status: response.status, text: await response.text() };
  };
  const status = async (...request: Parameters<typeof send>) => (await send(...request)).status;
  const { text } = await send('POST', 'c?uploads');
  const [, id] = /<UploadId>(.*)<\/UploadId>/.exec(text) ?? [];
  const part = await fetch(`http://127.0.0.1:${port}/b/c?partNumber=1&uploadId=${id}`, {
    method: 'PUT',
    body: '2',
  });
  await client.put('c/d', '1');
  const listed = `<Part><PartNumber>1</PartNumber><ETag>${part.headers.get('etag')}</ETag></Part>`;
  for (const [key, get] of [
    ['a', 404], // a folder
    ['a/b/c', 404], // below an object
    ['link', 404],
    ['link/c', 404],
    ['none', 404],
    ['none/c', 404],
  ] as const) {
    const put = key.startsWith('none') ? 200 : 409;
    for (const [headers, changed, read, removed] of [
      [{ 'if-match': '*' }, 404, get, 404],
      [{ 'if-match': '"x"' }, 404, get, 404],
      [{ 'if-none-match': '"x"' }, put, get, 204],
      [{ 'if-none-match': '*' }, put, get, 204],
      [{}, put, get, 204],
    ] as const) {
      const got: number[] = [];
      for (const method of ['GET', 'HEAD', 'DELETE', 'PUT'])
        got.push(await status(method, key, headers));
      expect([key, headers, got]).toEqual([key, headers, [read, read, removed, changed]]);
      if (changed === 200) await client.delete(key);
    }
    expect([key, await status('POST', `${key}?uploads`)]).toEqual([key, put]);
  }
  const complete = (headers = {}) => status('POST', `c?uploadId=${id}`, headers, listed);
  expect(await complete({ 'if-match': '*' })).toBe(404);
  expect(await complete({ 'if-none-match': '*' })).toBe(409);
  expect(await complete()).toBe(409);
  expect([readdirSync(folder).sort(), temporaryIn(root)]).toEqual([['a', 'c', 'link'], []]);
  await client.delete('c/d');
  expect(await complete()).toBe(200);
});

test('delete() heeds both conditions', async () => {
  const { connect } = await prepared();
  const client = await connect();
  const { etag } = await client.put('a', '1');
  const failed = { code: 'PreconditionFailed', status: 412 };
  for (const ifNoneMatch of [etag, '*'])
    await expect(client.delete('a', { ifNoneMatch })).rejects.toMatchObject(failed);
  await expect(client.delete('a', { ifMatch: '"x"' })).rejects.toMatchObject(failed);
  await client.delete('a', { ifNoneMatch: '"x"' });
  await expect(client.head('a')).rejects.toMatchObject({ code: 'NoSuchKey' });
  await client.delete('a', { ifNoneMatch: '*' });
});

test('buckets are the folders of the root', async () => {
  const { root, answer, connect } = await prepared();
  const client = await connect();
  await expect(client.createBucket()).rejects.toMatchObject({ code: 'BucketAlreadyOwnedByYou' });
  expect((await answer('PUT', '/new')).status).toBe(200);
  expect(readdirSync(root).sort()).toEqual(['.libfabric', 'b', 'new']);
  const { text } = await answer('GET', '/');
  expect([...text.matchAll(/<Name>(.*?)<\/Name>/g)].map(([, name]) => name)).toEqual(['b', 'new']);
  await client.put('a', '1');
  expect((await answer('DELETE', '/b')).status).toBe(409);
  expect((await answer('DELETE', '/new')).status).toBe(204);
  expect((await answer('HEAD', '/new')).status).toBe(404);
});

test('the name of the files of the store itself is that of no bucket', async () => {
  const { root, answer } = await prepared();
  for (const path of ['/.libfabric', '/.libfabric/', '/.libfabric?location', '/%2elibfabric'])
    for (const method of ['PUT', 'DELETE', 'HEAD', 'POST']) {
      const { status, text } = await answer(method, path);
      const code = method === 'HEAD' ? '' : 'InvalidBucketName';
      expect([path, method, status, text.includes(code)]).toEqual([path, method, 400, true]);
    }
  expect((await answer('GET', '/.libfabric')).status).toBe(200);
  expect(readdirSync(root).sort()).toEqual(['.libfabric', 'b']);
});

test('a server whose own folder was removed makes it again', async () => {
  const { root, folder, status, answer } = await prepared();
  const own = join(root, '.libfabric');
  const remove = () => rmSync(own, { recursive: true });
  const { text: upload } = await answer('POST', '/b/c?uploads');
  const [, id] = /<UploadId>(.*)<\/UploadId>/.exec(upload) ?? [];
  remove();
  expect(await status('PUT', '/b/a')).toBe(200);
  expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('new');
  remove();
  const { status: created } = await answer('POST', '/b/c?uploads');
  expect(created).toBe(200);
  const { status: part, text } = await answer('PUT', `/b/c?partNumber=1&uploadId=${id}`);
  expect([part, text.includes('NoSuchUpload')]).toEqual([404, true]);
  remove();
  writeFileSync(own, 'a file');
  const warned = once(process, 'warning');
  for (const path of ['/b/a', '/b/x/y']) expect(await status('PUT', path)).toBe(500);
  expect(String((await warned)[0])).toContain('.libfabric');
  rmSync(own);
  expect(await status('PUT', '/b/a')).toBe(200);
});

test('a PUT whose file was removed before it became an object answers 500', async () => {
  const { root, folder, port } = await prepared();
  const warned = once(process, 'warning');
  const socket = connect(port, '127.0.0.1');
  socket.write('PUT /b/a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na');
  await vi.waitFor(() => expect(temporaryIn(root)).toHaveLength(1), { timeout: HANG_MS });
  rmSync(join(root, '.libfabric'), { recursive: true });
  socket.write('b');
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 500 /);
  socket.destroy();
  expect(String((await warned)[0])).toContain('.libfabric');
  expect(readdirSync(folder)).toEqual([]);
});

test('requests that are not implemented are refused, and change nothing', async () => {
  const { answer, connect } = await prepared();
  const client = await connect();
  await client.put('object', 'content');
  const parts = ['/b/object?partNumber=1', '/b/object?response-content-type=text/plain'];
  const others = ['/b/object?acl', '/b/object?tagging', '/b/object?versionId=1', '/b?policy'];
  for (const path of [...parts, ...others])
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect([path, (await answer(method, path)).status]).toEqual([path, 501]);
  expect((await answer('POST', '/b?delete')).status).toBe(501);
  expect((await answer('POST', '/b/object')).status).toBe(405);
  expect(Buffer.from((await client.get('object')).bytes).toString()).toBe('content');
});

test('authorize() decides about every request', async () => {
  const seen: string[] = [];
  const { connect } = await serve(undefined, {
    authorize: ({ method, bucket, key, headers }) => {
      seen.push(`${method} ${bucket} ${key}`);
      return headers.authorization === 'yes';
    },
  });
  const client = await connect();
  await expect(client.put('a', '1')).rejects.toMatchObject({ code: 'AccessDenied', status: 403 });
  const allowed = await connect({ headers: { authorization: 'yes' } });
  await allowed.put('a', '1');
  expect(seen).toEqual(['PUT b a', 'PUT b a']);
});
