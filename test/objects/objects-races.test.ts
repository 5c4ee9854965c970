// libfabric/objects: requests for one object, or one bucket, at the same time.
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import {
  connectWithEngine,
  MIB,
  openIn,
  serve,
  TCP,
  temporaryIn,
} from '../support/object-stores.js';

test('of PUTs for a key that has no object, over HTTP and the fabric, one wins', async () => {
  const { root, folder, url } = await serve(TCP);
  const { client } = await connectWithEngine(url, TCP);
  for (let round = 0; round < 3; round++) {
    const key = `a/${round}`;
    const overHttp = Array.from({ length: 5 }, async (_, i) => {
      const headers = { 'if-none-match': '*' };
      const { status } = await fetch(`${url}/b/${key}`, { method: 'PUT', headers, body: `${i}` });
      return status;
    });
    const overFabric = Array.from({ length: 5 }, (_, i) =>
      client.put(key, pattern(i % 2 ? MIB : 10, i), { ifNoneMatch: '*' }).then(
        () => 200,
        ({ status }) => status,
      ),
    );
    const statuses = await Promise.all([...overHttp, ...overFabric]);
    expect(statuses.sort()).toEqual([200, ...new Array(9).fill(412)]);
  }
  expect([readdirSync(join(folder, 'a')), temporaryIn(root)]).toEqual([['0', '1', '2'], []]);
});

test.each(['http', 'fabric'])(
  'a reader gets one version whole or an error if it is replaced or deleted meanwhile, over %s',
  async (way) => {
    const { folder, url } = await serve(TCP, { pieceSize: 64 * 1024, buffers: 1 });
    const { client } = await connectWithEngine(url, TCP);
    const versions = [1, 2, 3].map((seed) => pattern(4 * MIB, seed));
    const get = async () =>
      way === 'fabric'
        ? (await client.get('object')).bytes
        : new Uint8Array(await (await fetch(`${url}/b/object`)).arrayBuffer());
    for (const version of versions) {
      writeFileSync(join(folder, 'object'), version);
      const reading = get();
      reading.catch(() => {});
      await vi.waitFor(() => expect(openIn(folder)).not.toEqual([]), {
        ...{ timeout: HANG_MS, interval: 1 },
      });
      if (version === versions[1]) await client.delete('object');
      else {
        writeFileSync(join(folder, 'next'), 'short');
        renameSync(join(folder, 'next'), join(folder, 'object'));
      }
      const got = await reading.catch(({ code }) => code); // the fabric moves pieces, each for a request
      if (typeof got === 'string') expect(['PreconditionFailed', 'NoSuchKey']).toContain(got);
      else expect(same(got, version)).toBe(true);
    }
    await expect.poll(() => openIn(folder)).toEqual([]);
  },
);

test('a bucket that is deleted beside PUTs has all objects that were confirmed, or is gone', async () => {
  const { root, url } = await serve(undefined);
  const send = async (method: string, path: string) => {
    const body = method === 'PUT' && path.includes('/') ? path : undefined;
    return (await fetch(`${url}/${path}`, { method, ...(body && { body }) })).status;
  };
  for (let round = 0; round < 10; round++) {
    expect(await send('PUT', 'other')).toBe(200);
    const keys = Array.from({ length: 6 }, (_, i) => `other/${i % 3}/${i}`);
    const puts = keys.map((key) => send('PUT', key));
    const deletes = Array.from({ length: 3 }, () => send('DELETE', 'other'));
    const removals = keys.map((key) => send('DELETE', key));
    for (const status of await Promise.all(puts)) expect([200, 404]).toContain(status);
    for (const status of await Promise.all(deletes)) expect([204, 404, 409]).toContain(status);
    for (const status of await Promise.all(removals)) expect([204, 404]).toContain(status);
    if (readdirSync(root).includes('other'))
      for (const key of keys) expect([204, 404]).toContain(await send('DELETE', key));
    expect([204, 404]).toContain(await send('DELETE', 'other'));
    expect(readdirSync(root).sort()).toEqual(['.libfabric', 'b']);
  }
  expect(temporaryIn(root)).toEqual([]);
});

test('PUTs into folders that DELETEs empty are stored', async () => {
  const { folder, url } = await serve(undefined);
  const send = (method: string, key: string) =>
    fetch(`${url}/b/${key}`, { method, ...(method === 'PUT' && { body: key }) });
  for (let round = 0; round < 20; round++) {
    await send('PUT', 'a/b/old');
    const [put] = await Promise.all([send('PUT', 'a/b/new'), send('DELETE', 'a/b/old')]);
    expect(put?.status).toBe(200);
    expect(readFileSync(join(folder, 'a/b/new'), 'utf8')).toBe('a/b/new');
    await send('DELETE', 'a/b/new');
    expect(readdirSync(folder)).toEqual([]);
  }
});
