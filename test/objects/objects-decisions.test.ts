// libfabric/objects: authorize() and admit() of the program, which may throw, answer late, or never.
import { readdirSync } from 'node:fs';
import type { ObjectServerOptions } from 'libfabric/objects';
import { expect, test } from 'vitest';
import { same } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import { openEngine, openIn, serve, TCP } from '../support/object-stores.js';
import { settle } from '../support/settle.js';
import { warningsFromNow } from '../support/warnings.js';

/** A function of the program that answers when it is told to. */
function undecided() {
  const waiting: ((allowed: boolean) => void)[] = [];
  let waits = false;
  const decide = () =>
    waits ? new Promise<boolean>((resolve) => void waiting.push(resolve)) : true;
  const wait = () => {
    waits = true;
  };
  return { decide, waiting, wait };
}

test.each([
  ['authorize', undefined],
  ['authorize', TCP],
  ['admit', TCP],
] as const)('close() does not wait for %s(), engine: %o', async (name, fabric) => {
  const { decide, waiting, wait } = undecided();
  const options: ObjectServerOptions = { [name]: decide };
  const { root, folder, server, url, connect } = await serve(fabric, options);
  const client = await connect();
  await client.put('first', 'bytes');
  wait();
  const asked: Promise<unknown>[] = [];
  const gone = new AbortController();
  if (name === 'authorize') {
    asked.push(client.put('late', 'bytes'));
    asked.push(fetch(`${url}/b/gone`, { method: 'PUT', body: 'b', signal: gone.signal }));
  } else {
    const { address } = await openEngine(TCP);
    const headers = { 'x-libfabric-address': address, via: '1.1 proxy' };
    const of = { ...headers, 'x-libfabric-token': 'token' };
    asked.push(fetch(`${url}/b/late`, { method: 'PUT', headers: of }));
    asked.push(fetch(`${url}/.libfabric`, { headers, signal: gone.signal }));
  }
  const ends = Promise.allSettled(asked);
  await expect.poll(() => waiting.length, { timeout: HANG_MS }).toBe(2);
  gone.abort();
  await settle(server.close());
  expect((await settle(ends)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(openIn(root)).toEqual([]);
  for (const answer of waiting) answer(true);
  await new Promise(setImmediate);
  expect(readdirSync(folder)).toEqual(['first']);
});

test('only true of authorize() allows a request', async () => {
  let answer: unknown = true;
  const { url } = await serve(undefined, { authorize: () => answer as boolean });
  const status = async () => (await fetch(`${url}/b`)).status;
  expect(await status()).toBe(200);
  for (answer of ['no', 1, {}, 0, null, undefined, Promise.resolve('yes')])
    expect(await status()).toBe(403);
});

test('an authorize() that throws refuses with 500, and each error is one line once', async () => {
  const warnings = warningsFromNow();
  let calls = 0;
  const authorize = () => {
    calls += 1;
    const error = new Error('secret of the program\nsecond line');
    if (calls % 2) throw error;
    return Promise.reject(error);
  };
  const { url } = await serve(undefined, { authorize });
  for (let i = 0; i < 10; i++) {
    const answer = await fetch(`${url}/b/key`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('secret');
  }
  expect(calls).toBe(10);
  expect(warnings).toEqual([
    'LibfabricWarning: authorize() of the object server has thrown, and requests get 500: Error: secret of the program',
  ]);
});

test('a server whose engine is closed serves clients with an engine over HTTP', async () => {
  const warnings = warningsFromNow();
  const { engine, connect } = await serve(TCP);
  const known = await connect();
  const bytes = new Uint8Array(1_000_000).fill(7);
  await known.put('long', bytes);
  await engine?.close();
  const unknown = await connect();
  for (const client of [unknown, known]) {
    await client.get('long').catch(() => {}); // a known client learns it now
    expect(same((await client.get('long')).bytes, bytes)).toBe(true);
    await client.put('long', bytes);
    expect((await client.head('long')).size).toBe(bytes.length);
  }
  expect(warnings).toEqual([]);
});
