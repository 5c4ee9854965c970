// libfabric/objects: what others have left in the folder of a server, in the place of keys and buckets.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { openIn, serve } from '../support/object-stores.js';

async function prepared() {
  const served = await serve(undefined);
  const client = await served.connect();
  const other = (bucket: string) => {
    const made = new ObjectClient(`${served.url}/${bucket}`);
    onTestFinished(() => made.close());
    return made;
  };
  const ask = async (method: string, path: string, body?: string) => {
    const answer = await fetch(`${served.url}/${path}`, { method, ...(body && { body }) });
    const text = await answer.text();
    const [, code] = /<Code>(\w+)</.exec(text) ?? [];
    return { status: answer.status, code, text };
  };
  return { ...served, client, other, ask };
}

test('folders without objects are in the way of no key and no bucket', async () => {
  const { root, folder, client, ask } = await prepared();
  const leave = () => mkdirSync(join(folder, 'year/month/day'), { recursive: true });
  leave();
  mkdirSync(join(folder, 'year/other'));
  await client.put('year', 'bytes');
  expect(String((await client.get('year')).bytes)).toBe('bytes');
  await client.delete('year');
  leave();
  await client.delete('year/month');
  expect(existsSync(join(folder, 'year'))).toBe(false);
  leave();
  const { text } = await ask('POST', 'b/year?uploads');
  const [, id] = /<UploadId>(.*)<\/UploadId>/.exec(text) ?? [];
  expect((await ask('DELETE', `b/year?uploadId=${id}`)).status).toBe(204);
  leave();
  expect((await ask('DELETE', 'b')).status).toBe(204);
  expect(readdirSync(root)).toEqual(['.libfabric']);
  expect(openIn(root)).toEqual([root]);
});

test('folders with an object, or with anything else, stay', async () => {
  const { folder, client, ask } = await prepared();
  await client.put('year/month/x', 'bytes');
  mkdirSync(join(folder, 'links/a'), { recursive: true });
  symlinkSync('/', join(folder, 'links/a/root'));
  for (const key of ['year', 'year/month', 'links', 'links/a']) {
    await expect(client.put(key, 'bytes')).rejects.toMatchObject({ code: 'KeyConflict' });
    await client.delete(key);
    expect(existsSync(join(folder, key))).toBe(true);
  }
  expect(await ask('DELETE', 'b')).toMatchObject({ status: 409, code: 'BucketNotEmpty' });
  expect(existsSync(join(folder, 'links/a/root'))).toBe(true);
  expect(String((await client.get('year/month/x')).bytes)).toBe('bytes');
});

test('what stands in the place of a key or a bucket is named', async () => {
  const { root, folder, client, other, ask } = await prepared();
  const kinds = { 'a symbolic link': 'link', 'a file': 'file', 'a FIFO': 'fifo' };
  for (const at of [root, folder]) {
    symlinkSync('/etc', join(at, 'link'));
    if (at === root) writeFileSync(join(at, 'file'), '');
    execFileSync('mkfifo', [join(at, 'fifo')]);
  }
  for (const [kind, name] of Object.entries(kinds)) {
    const creating = other(name).createBucket();
    await expect(creating).rejects.toMatchObject({
      code: 'BucketAlreadyExists',
      status: 409,
      message: expect.stringContaining(kind),
    });
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const path = method === 'PUT' ? `${name}/key` : name;
      const answer = await ask(method, path, method === 'PUT' ? 'bytes' : undefined);
      expect(answer).toMatchObject({ status: 404, code: 'NoSuchBucket' });
      expect(answer.text).toContain(kind);
    }
    expect((await ask('HEAD', name)).status).toBe(404);
    if (name === 'file') continue;
    for (const key of [name, `${name}/below`]) {
      const putting = client.put(key, 'bytes');
      await expect(putting).rejects.toMatchObject({ code: 'KeyConflict' });
    }
    await expect(client.put(name, '')).rejects.toThrow(kind);
  }
});

test.each([
  ['a request', ''],
  ['other means', 'rm'],
])('an upload ends with its bucket, which %s removes', async (_, means) => {
  const { root, folder, ask } = await prepared();
  const create = async (bucket: string) => {
    const { text } = await ask('POST', `${bucket}/key?uploads`);
    return /<UploadId>(.*)<\/UploadId>/.exec(text)?.[1] ?? '';
  };
  await ask('PUT', 'other');
  const [id, kept] = [await create('b'), await create('other')];
  if (means === 'rm') rmSync(folder, { recursive: true });
  else expect((await ask('DELETE', 'b')).status).toBe(204);
  expect((await ask('PUT', 'b')).status).toBe(200);
  const list = '<C><Part><PartNumber>1</PartNumber><ETag>a</ETag></Part></C>';
  const gone = { status: 404, code: 'NoSuchUpload' };
  expect(await ask('POST', `b/key?uploadId=${id}`, list)).toMatchObject(gone);
  expect(await ask('PUT', `b/key?partNumber=1&uploadId=${id}`, 'x')).toMatchObject(gone);
  expect(readdirSync(join(root, '.libfabric/uploads'))).toEqual([kept]);
});
