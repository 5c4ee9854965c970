// put() of a stream that is aborted leaves no multipart upload, whenever the signal comes.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';
import { MIB, serve, TCP } from '../support/object-stores.js';
import { settle } from '../support/settle.js';

const enough = new Error('enough');

async function* parts(count: number, given: (part: number) => void = () => {}) {
  for (let part = 0; part < count; part++) {
    given(part);
    yield Buffer.alloc(4 * MIB);
  }
}

const uploadsIn = (root: string) =>
  readdirSync(join(root, '.libfabric')).includes('uploads')
    ? readdirSync(join(root, '.libfabric/uploads'))
    : [];

test.each(['before the request', 'before the answer', 'after the answer'])(
  'the signal comes while the id is asked: %s',
  async (when) => {
    const { root, connect } = await serve(undefined);
    const controller = new AbortController();
    const abort = () => controller.abort(enough);
    let asked = 0;
    const asking: typeof fetch = async (url, init) => {
      const isCreation = String(url).endsWith('?uploads');
      if (isCreation) asked += 1;
      if (isCreation && when === 'before the request') abort();
      const response = await fetch(url, init);
      if (isCreation && when === 'before the answer') abort();
      const bytes = await response.arrayBuffer();
      if (isCreation) abort();
      return new Response(bytes.byteLength > 0 ? bytes : null, response);
    };
    const client = await connect({ fetch: asking });
    const put = client.put('a', parts(8), { signal: controller.signal });
    await expect(settle(put)).rejects.toBe(enough);
    expect(asked).toBe(1);
    await expect.poll(() => uploadsIn(root), { timeout: HANG_MS }).toEqual([]);
  },
);

test.each([
  ['HTTP', undefined],
  ['the fabric', TCP],
])('over %s, the signal comes at any part', async (_, fabric) => {
  const { root, connect } = await serve(fabric);
  const client = await connect();
  for (const at of [2, 4, 7]) {
    const controller = new AbortController();
    const given = (part: number) => {
      if (part === at) controller.abort(enough);
    };
    const put = client.put('a', parts(8, given), { signal: controller.signal });
    await expect(settle(put)).rejects.toBe(enough);
  }
  await expect.poll(() => uploadsIn(root), { timeout: HANG_MS }).toEqual([]);
  await expect(client.head('a')).rejects.toMatchObject({ code: 'NoSuchKey' });
});

test.each([
  ['HTTP', undefined],
  ['the fabric', TCP],
])('over %s, a call that is aborted at once sends nothing', async (_, fabric) => {
  const { folder, connect } = await serve(fabric);
  const client = await connect();
  await client.put('kept', Buffer.alloc(MIB));
  const memory = Buffer.alloc(2 * MIB);
  for (const body of [Buffer.alloc(10), memory, parts(1)]) {
    const controller = new AbortController();
    const { signal } = controller;
    const calls = [client.put('a', body, { signal }), client.delete('kept', { signal })];
    controller.abort(enough);
    for (const end of await settle(Promise.allSettled(calls)))
      expect(end).toEqual({ status: 'rejected', reason: enough });
  }
  await client.head('kept'); // the server has answered everything
  expect(readdirSync(folder)).toEqual(['kept']);
});
