// examples/object-server refuses wrong requests.
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { pattern } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import { MIB, openEngine, serve, TCP } from '../support/object-server.js';

describe('a request that the server refuses', () => {
  const NAMES = { address: 'x-libfabric-address', token: 'x-libfabric-token' };

  async function prepared() {
    const { folder, url, connect } = await serve();
    const client = await connect();
    await client.put('object', pattern(1000));
    const memory = await client.engine.register(new Uint8Array(1000));
    const offer = (access: 'read' | 'write', length = 1000, more = {}) =>
      memory.slice(0, length).offer({ access, to: client.server, ...more });
    const status = async (method: string, path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}${path}`, { method, headers });
      const text = await response.text();
      expect(text).not.toContain(folder);
      return response.status;
    };
    const { address } = client.engine;
    const get = (token: string, more = {}) =>
      status('GET', '/objects/object', { [NAMES.address]: address, [NAMES.token]: token, ...more });
    return { folder, address, client, memory, offer, status, get };
  }

  test('an unknown object, path or method', async () => {
    const { status } = await prepared();
    expect(await status('GET', '/objects/none')).toBe(404);
    expect(await status('HEAD', '/objects/none')).toBe(404);
    expect(await status('GET', '/objects/..%2Fobject')).toBe(404);
    expect(await status('GET', '/objects/.hidden')).toBe(404);
    expect(await status('GET', '/')).toBe(404);
    expect(await status('DELETE', '/objects/object')).toBe(405);
  });

  test('a wrong address', async () => {
    const { address, offer, status } = await prepared();
    const { token } = await offer('write');
    const other = (await openEngine(TCP)).address;
    const shm = (await openEngine({ provider: 'shm' })).address;
    const wrong = ['', 'address', `${address}A`, address.slice(0, -1), token, other, shm];
    for (const each of wrong) {
      const headers = { [NAMES.address]: each, [NAMES.token]: token };
      expect(await status('GET', '/objects/object', headers), each).toBe(400);
    }
    expect(await status('GET', '/objects/object', { [NAMES.token]: token })).toBe(400);
  });

  test('a wrong token', async () => {
    const { address, client, memory, offer, get } = await prepared();
    const { token } = await offer('write');
    const half = (await offer('write', 500)).token;
    const reading = (await offer('read')).token;
    const third = await openEngine(TCP);
    const toThird = await memory.offer({
      access: 'write',
      to: await client.engine.peer(third.address),
    });
    const changed = `${token.slice(0, 20)}${token[20] === 'A' ? 'B' : 'A'}${token.slice(21)}`;
    const wrong = [
      '',
      'token',
      address,
      changed,
      half,
      reading,
      toThird.token,
      `${token},${token}`,
    ];
    for (const each of wrong) expect(await get(each), each).toBe(400);
    expect(memory.bytes.every((byte) => byte === 0)).toBe(true);
    expect(await get(`${half}, ${(await offer('write', 500)).token}`)).toBe(200);
  });

  test('an expired token', async () => {
    const { offer, get } = await prepared();
    const expired = await offer('write', 1000, { expires: 1 });
    await expired.released;
    await vi.waitFor(async () => expect(await get(expired.token)).toBe(400), { timeout: HANG_MS });
  });

  test('a range or an etag that the object does not have', async () => {
    const { offer, get, status } = await prepared();
    const { token } = await offer('write', 10);
    expect(await get(token, { range: 'bytes=1000-1009' })).toBe(416);
    expect(await get(token, { range: 'bytes=995-1004' })).toBe(400); // of 5 bytes
    expect(await get(token, { range: 'bytes=0-4,100-104' })).toBe(400); // of all bytes
    expect(await get(token, { range: 'bytes=0-9', 'if-match': '"other"' })).toBe(412);
    expect(await status('GET', '/objects/object', { 'if-match': '"other"' })).toBe(412);
    expect(await get(token, { range: 'bytes=990-999' })).toBe(206);
  });

  test('a token of a larger piece than the server has room for', async () => {
    const { folder, connect } = await serve();
    const client = await connect();
    const memory = await client.engine.allocate(17 * MIB);
    const { token } = await memory.offer({ access: 'read', to: client.server });
    const headers = { [NAMES.address]: client.engine.address, [NAMES.token]: token };
    const { status } = await fetch(`${client.url}/objects/large`, { method: 'PUT', headers });
    expect(status).toBe(400);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('an object that changes between two pieces is refused', async () => {
  const { connect } = await serve();
  const client = await connect();
  await client.put('object', randomBytes(3 * MIB));
  const memory = await client.engine.allocate(MIB);
  const pieces = client.pieces('object', memory);
  await pieces.next();
  await client.put('object', randomBytes(3 * MIB));
  await expect(
    (async () => {
      for await (const piece of pieces) expect(piece.length).toBe(MIB / 2);
    })(),
  ).rejects.toThrow('412');
});
