// libfabric/objects: multipart uploads, and what is left of them on the disk.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createObjectServer, type ObjectServerOptions } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';
import { openIn, serve, temporaryIn } from '../support/object-stores.js';
import { stranger } from '../support/strangers.js';

const HOUR = 3_600_000;

async function prepared(options: ObjectServerOptions = {}) {
  const { root, folder, url } = await serve(undefined, options);
  const uploads = join(root, '.libfabric/uploads');
  const send = async (method: string, path: string, body = '', headers = {}) => {
    const request = { method, headers, ...(body && { body }) };
    const response = await fetch(`${url}/b/${path}`, request);
    const text = await response.text();
    const [, code] = /<Code>(\w+)</.exec(text) ?? [];
    return { status: response.status, code, text, etag: response.headers.get('etag') ?? '' };
  };
  const create = async (key = 'key') => {
    const { text } = await send('POST', `${key}?uploads`);
    return /<UploadId>(.*)<\/UploadId>/.exec(text)?.[1] ?? '';
  };
  const part = (id: string, number: number, body: string, headers = {}) =>
    send('PUT', `key?partNumber=${number}&uploadId=${id}`, body, headers);
  const complete = (id: string, etags: readonly string[], headers = {}) => {
    const parts = etags.map(
      (etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    );
    return send('POST', `key?uploadId=${id}`, `<C>${parts.join('')}</C>`, headers);
  };
  return { root, folder, url, uploads, send, create, part, complete };
}

test('a part that was uploaded again has another ETag, and its first bytes are gone', async () => {
  const { root, folder, uploads, create, part, complete } = await prepared();
  const id = await create();
  const first = await part(id, 1, 'first');
  const again = await part(id, 1, 'again');
  const second = await part(id, 2, '');
  expect(first.etag).not.toBe(again.etag);
  expect(readdirSync(join(uploads, id)).sort()).toEqual(['1', '2', 'target']);
  const old = await complete(id, [first.etag, second.etag]);
  expect([old.status, old.code]).toEqual([400, 'InvalidPart']);
  for (const wrong of ['', '"', '../target', again.etag.slice(0, 9)])
    expect((await complete(id, [wrong])).status).toBe(400);
  expect(existsSync(join(folder, 'key'))).toBe(false);
  const unquoted = again.etag.replaceAll('"', '');
  expect((await complete(id, [unquoted, `&quot;${second.etag.slice(1, -1)}&quot;`])).status).toBe(
    200,
  );
  expect(readFileSync(join(folder, 'key'), 'utf8')).toBe('again');
  expect([readdirSync(uploads), temporaryIn(root), openIn(root)]).toEqual([[], [], [root]]);
});

test('of parts with one number that arrive at the same time, one stays, and its ETag completes', async () => {
  const { folder, uploads, create, part, complete } = await prepared();
  const id = await create();
  const texts = Array.from({ length: 10 }, (_, i) => `part ${i}`);
  const parts = await Promise.all(texts.map((text) => part(id, 1, text)));
  expect(readdirSync(join(uploads, id)).sort()).toEqual(['1', 'target']);
  const stored = readFileSync(join(uploads, id, '1'), 'utf8');
  for (const [i, { etag }] of parts.entries()) {
    if (texts[i] === stored) continue;
    expect((await complete(id, [etag])).code).toBe('InvalidPart');
  }
  const { etag } = parts[texts.indexOf(stored)] as { etag: string };
  expect((await complete(id, [etag])).status).toBe(200);
  expect(readFileSync(join(folder, 'key'), 'utf8')).toBe(stored);
});

test('an upload with a condition completes once', async () => {
  const { send, create, part, complete } = await prepared();
  const prepare = async () => {
    const id = await create();
    return { id, etag: (await part(id, 1, 'bytes')).etag };
  };
  const all = [await prepare(), await prepare(), await prepare()];
  const none = await complete(all[0]?.id ?? '', [all[0]?.etag ?? ''], { 'if-match': '*' });
  expect([none.status, none.code]).toEqual([404, 'NoSuchKey']);
  const condition = { 'if-none-match': '*' };
  const answers = await Promise.all(all.map(({ id, etag }) => complete(id, [etag], condition)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
  const { etag } = await send('HEAD', 'key');
  const rest = all[answers.findIndex(({ status }) => status === 412)];
  const matching = await complete(rest?.id ?? '', [rest?.etag ?? ''], { 'if-match': etag });
  expect(matching.status).toBe(200);
});

test('of completions of one upload at the same time, each gets the object or NoSuchUpload', async () => {
  const { root, folder, create, part, complete } = await prepared();
  const id = await create();
  const { etag } = await part(id, 1, 'bytes');
  const answers = await Promise.all(Array.from({ length: 5 }, () => complete(id, [etag])));
  expect(answers.filter(({ status }) => status === 200)).not.toEqual([]);
  for (const { status, code } of answers)
    expect(['200 undefined', '404 NoSuchUpload']).toContain(`${status} ${code}`);
  expect(readFileSync(join(folder, 'key'), 'utf8')).toBe('bytes');
  expect(temporaryIn(root)).toEqual([]);
});

test('an upload that is aborted beside its parts is gone: nothing of them stays', async () => {
  const { root, uploads, send, create, part, complete } = await prepared();
  for (let round = 0; round < 25; round++) {
    const id = await create();
    const first = await part(id, 1, 'first');
    const parts = Array.from({ length: 12 }, (_, i) => part(id, i + 1, `${i}`.repeat(50_000)));
    if (round % 5) await Promise.any(parts.slice(0, round % 5));
    const aborted = await send('DELETE', `key?uploadId=${id}`);
    expect([aborted.status, aborted.code]).toEqual([204, undefined]);
    for (const { status, code } of await Promise.all(parts))
      expect(['200 undefined', '404 NoSuchUpload']).toContain(`${status} ${code}`);
    expect((await part(id, 2, 'late')).code).toBe('NoSuchUpload');
    expect((await complete(id, [first.etag])).code).toBe('NoSuchUpload');
    expect((await send('DELETE', `key?uploadId=${id}`)).code).toBe('NoSuchUpload');
  }
  expect([readdirSync(uploads), temporaryIn(root), openIn(root)]).toEqual([[], [], [root]]);
});

test('an upload that is aborted beside its completion becomes an object, or is gone', async () => {
  const { root, folder, uploads, send, create, part, complete } = await prepared();
  for (let round = 0; round < 10; round++) {
    const id = await create();
    const { etag } = await part(id, 1, 'bytes'.repeat(100_000));
    const [completed, aborted] = await Promise.all([
      complete(id, [etag]),
      send('DELETE', `key?uploadId=${id}`),
    ]);
    expect(existsSync(join(folder, 'key'))).toBe(completed.status === 200);
    expect(['200 undefined', '404 NoSuchUpload']).toContain(
      `${completed.status} ${completed.code}`,
    );
    expect(['204 undefined', '404 NoSuchUpload']).toContain(`${aborted.status} ${aborted.code}`);
    await send('DELETE', 'key');
  }
  expect([readdirSync(uploads), temporaryIn(root)]).toEqual([[], []]);
});

test('a part number is 1 to 10,000 in decimal digits', async () => {
  const { uploads, create, part, send } = await prepared();
  const id = await create();
  for (const number of [
    '1e1',
    '0x2',
    '+3',
    ' 4',
    '5e0',
    '1_0',
    '1.5',
    '-1',
    '0',
    '10001',
    '',
    'x',
  ]) {
    const path = `key?partNumber=${encodeURIComponent(number)}&uploadId=${id}`;
    const { status, code } = await send('PUT', path, 'bytes');
    expect([number, status, code]).toEqual([number, 400, 'InvalidArgument']);
  }
  expect((await send('PUT', `key?uploadId=${id}`, 'bytes')).status).toBe(400);
  expect((await part(id, 10_000, 'bytes')).status).toBe(200);
  expect(readdirSync(join(uploads, id)).sort()).toEqual(['10000', 'target']);
});

const age = (path: string, ms: number) => {
  const seconds = (Date.now() - ms) / 1000;
  lutimesSync(path, seconds, seconds);
};

test('uploads that were left behind are removed after a week without a part', async () => {
  const { root, uploads, create, part } = await prepared();
  const [left, fresh, kept] = [await create(), await create(), await create()];
  for (const id of [left, kept]) await part(id, 1, 'bytes');
  age(join(uploads, left), 7 * 24 * HOUR + 60_000);
  age(join(uploads, kept), 7 * 24 * HOUR - 60_000);
  const other = await createObjectServer(root); // a server that starts
  onTestFinished(() => other.close());
  const wanted = [fresh, kept].sort();
  await expect.poll(() => readdirSync(uploads).sort(), { timeout: HANG_MS }).toEqual(wanted);
  expect((await part(left, 2, 'late')).code).toBe('NoSuchUpload');
  expect((await part(kept, 2, 'late')).status).toBe(200);
});

test('a server that runs removes them too, and no upload that gets parts', async () => {
  const { uploads, create, part } = await prepared({ keepUploads: 500 });
  const [left, kept] = [await create(), await create()];
  await expect
    .poll(
      async () => {
        expect((await part(kept, 1, 'bytes')).status).toBe(200);
        return readdirSync(uploads);
      },
      { timeout: HANG_MS },
    )
    .toEqual([kept]);
  expect((await part(left, 1, 'late')).code).toBe('NoSuchUpload');
});

test('an upload stays while a part arrives, and a part that fails keeps it too', async () => {
  const { url, root, uploads, create } = await prepared({ keepUploads: 500 });
  const kept = await create();
  const begin = () => {
    const head = `PUT /b/key?partNumber=1&uploadId=${kept} HTTP/1.1\r\nHost: a\r\nContent-Length: 2`;
    return stranger(Number(new URL(url).port), Buffer.from(`${head}\r\n\r\na`));
  };
  const sweep = async () => {
    await create();
    age(join(uploads, kept), HOUR);
    await expect.poll(() => readdirSync(uploads), { timeout: HANG_MS }).toEqual([kept]);
  };
  const [slow, broken] = [await begin(), await begin()];
  await expect.poll(() => temporaryIn(root), { timeout: HANG_MS }).toHaveLength(2);
  await sweep();
  broken.destroy();
  const used = () => Date.now() - statSync(join(uploads, kept)).mtimeMs;
  await expect.poll(used, { timeout: HANG_MS }).toBeLessThan(HOUR / 2);
  await sweep();
  const answer = once(slow, 'data');
  slow.write('b');
  expect(String(await answer)).toMatch(/^HTTP\/1.1 200/);
});

test('files of requests that have ended with their server are removed after an hour', async () => {
  const { root, url } = await prepared();
  const temporary = join(root, '.libfabric/temporary');
  const kept = randomUUID();
  for (const [name, ms] of [
    [randomUUID(), HOUR + 60_000],
    [kept, HOUR - 60_000],
  ] as const) {
    writeFileSync(join(temporary, name), '');
    age(join(temporary, name), ms);
  }
  const server = await createObjectServer(root);
  onTestFinished(() => server.close());
  await expect.poll(() => temporaryIn(root), { timeout: HANG_MS }).toEqual([kept]);
  expect((await fetch(`${url}/b/a`, { method: 'PUT', body: 'a' })).status).toBe(200);
});

test('only what has a name of the server is removed, and nothing behind a link', async () => {
  const { root, uploads } = await prepared({ keepUploads: 0 }); // it looks every second
  const temporary = join(root, '.libfabric/temporary');
  const elsewhere = join(root, 'elsewhere');
  mkdirSync(elsewhere);
  const fill = (folder: string) => {
    const names = { folder: 'mine', file: 'plain', upload: randomUUID(), link: randomUUID() };
    for (const name of [names.folder, names.upload]) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'file'), 'precious');
    }
    writeFileSync(join(folder, names.file), 'precious');
    symlinkSync(elsewhere, join(folder, names.link));
    for (const name of readdirSync(folder)) age(join(folder, name), 14 * 24 * HOUR);
    return names;
  };
  const swept = async () => {
    const mark = join(temporary, randomUUID());
    writeFileSync(mark, '');
    age(mark, 2 * HOUR);
    await expect.poll(() => existsSync(mark), { timeout: HANG_MS }).toBe(false);
  };
  const outside = fill(elsewhere);
  const own = fill(uploads);
  const left = [own.folder, own.file, own.link].sort();
  await expect.poll(() => readdirSync(uploads).sort(), { timeout: HANG_MS }).toEqual(left);
  rmSync(uploads, { recursive: true });
  symlinkSync(elsewhere, uploads);
  for (let i = 0; i < 2; i++) await swept(); // the second one begins when the first has looked at the uploads
  expect(readdirSync(elsewhere).sort()).toEqual(Object.values(outside).sort());
  expect(readdirSync(join(elsewhere, outside.upload))).toEqual(['file']);
});

test('those of requests in progress stay', async () => {
  const { root, folder, url } = await prepared({ keepUploads: 0 }); // it looks every second
  const socket = await stranger(
    Number(new URL(url).port),
    Buffer.from('PUT /b/a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na'),
  );
  const temporary = join(root, '.libfabric/temporary');
  await expect.poll(() => temporaryIn(root), { timeout: HANG_MS }).toHaveLength(1);
  const [name = ''] = temporaryIn(root);
  const left = randomUUID();
  for (const each of [name, left]) {
    if (each === left) writeFileSync(join(temporary, each), '');
    age(join(temporary, each), 2 * HOUR);
  }
  await expect.poll(() => temporaryIn(root), { timeout: HANG_MS }).toEqual([name]);
  socket.write('b');
  await expect.poll(() => readdirSync(folder), { timeout: HANG_MS }).toEqual(['a']);
});
