// libfabric/objects: what strangers name in their requests, and how much of it a server keeps.
import { expect, test } from 'vitest';
import { same } from '../support/bytes.js';
import { bystander, forged, peersOf } from '../support/forged.js';
import { openEngine, serve, TCP } from '../support/object-stores.js';

const ADDRESS = 'x-libfabric-address';
const TOKEN = 'x-libfabric-token';

test('a server connects to no host that a client names, whatever the request', async () => {
  const { url, engine } = await serve(TCP);
  const evil = await openEngine(TCP);
  const { connections, rail } = await bystander();
  const headers = { [ADDRESS]: forged(evil.address, { rails: [rail] }), [TOKEN]: 'token' };
  await fetch(`${url}/b/a`, { method: 'PUT', body: 'bytes' });
  const status = async (method: string, path: string, more = {}) =>
    (await fetch(`${url}${path}`, { method, headers: { ...headers, ...more } })).status;
  expect(await status('GET', '/b/a')).toBe(403);
  expect(await status('PUT', '/b/a')).toBe(403);
  expect(await status('GET', '/b/a', { [ADDRESS]: evil.address, via: '1.1 proxy' })).toBe(403);
  const welcome = async (given: Record<string, string>) =>
    Object.keys((await (await fetch(`${url}/.libfabric`, { headers: given })).json()) as object);
  expect(await welcome(headers)).toEqual([]);
  expect(await welcome({ [ADDRESS]: evil.address, forwarded: 'for=127.0.0.1' })).toEqual([]);
  expect([peersOf(engine as { id: string }), connections]).toEqual([[], []]);
  expect(await welcome({ [ADDRESS]: evil.address })).toEqual(['address', 'piece']);
});

test('a client whose address is not admitted uses HTTP, and admit() decides', async () => {
  const asked: unknown[] = [];
  let decision = false;
  const admit = (address: object) => asked.push(address) > 0 && decision;
  const { connect } = await serve(TCP, { admit });
  const headers = { 'x-forwarded-for': '10.1.2.3' }; // as a proxy adds it
  const bytes = new Uint8Array(1_000_000).fill(7);
  for (const each of [false, true]) {
    decision = each;
    const client = await connect({ headers });
    await client.put('a', bytes);
    expect(same((await client.get('a')).bytes, bytes)).toBe(true);
    expect(asked.length > 1).toBe(each); // it is asked once for a client that then uses HTTP
  }
});

test('a server forgets engines that have closed, and keeps a number of the others', async () => {
  const { url, engine, connect } = await serve(TCP, { maxClients: 3 });
  const known = () => peersOf(engine as { id: string }).length;
  const own = await openEngine(TCP);
  const client = await connect({ engine: own });
  await client.put('a', new Uint8Array(1_000_000));
  expect(known()).toBe(1);
  await client.close();
  await own.close();
  await expect.poll(known).toBe(0);
  for (let i = 1; i <= 10; i++) {
    const address = forged(own.address, { id: BigInt(i), maps: false });
    await fetch(`${url}/.libfabric`, { headers: { [ADDRESS]: address } });
    expect(
      (await fetch(`${url}/b/a`, { headers: { [ADDRESS]: address, [TOKEN]: 'a' } })).status,
    ).toBe(400);
  }
  await expect.poll(known).toBe(3);
});
