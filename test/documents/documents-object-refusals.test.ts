// examples/object-server refuses wrong requests.
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { pattern } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import { MIB, openEngine, serve, TCP } from '../support/object-server.js';

describe('a request that the server refuses', () => {
  const NAMES = { card: 'x-libfabric-card', token: 'x-libfabric-token' };

  async function prepared() {
    const { folder, url, connect } = await serve();
    const client = await connect();
    await client.put('object', pattern(1000));
    const place = await client.engine.register(new Uint8Array(1000));
    const offer = (access: 'read' | 'write', length = 1000, more = {}) =>
      place.slice(0, length).offer({ access, to: client.server, ...more });
    const status = async (method: string, path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}${path}`, { method, headers });
      const text = await response.text();
      expect(text).not.toContain(folder);
      return response.status;
    };
    const { card } = client.engine;
    const get = (token: string, more = {}) =>
      status('GET', '/objects/object', { [NAMES.card]: card, [NAMES.token]: token, ...more });
    return { folder, card, client, place, offer, status, get };
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

  test('a wrong card', async () => {
    const { card, offer, status } = await prepared();
    const { token } = await offer('write');
    const other = (await openEngine(TCP)).card;
    const shm = (await openEngine({ provider: 'shm' })).card;
    const wrong = ['', 'card', `${card}A`, card.slice(0, -1), token, other, shm];
    for (const each of wrong) {
      const headers = { [NAMES.card]: each, [NAMES.token]: token };
      expect(await status('GET', '/objects/object', headers), each).toBe(400);
    }
    expect(await status('GET', '/objects/object', { [NAMES.token]: token })).toBe(400);
  });

  test('a wrong token', async () => {
    const { card, client, place, offer, get } = await prepared();
    const { token } = await offer('write');
    const half = (await offer('write', 500)).token;
    const reading = (await offer('read')).token;
    const third = await openEngine(TCP);
    const toThird = await place.offer({
      access: 'write',
      to: await client.engine.peer(third.card),
    });
    const changed = `${token.slice(0, 20)}${token[20] === 'A' ? 'B' : 'A'}${token.slice(21)}`;
    const wrong = ['', 'token', card, changed, half, reading, toThird.token, `${token},${token}`];
    for (const each of wrong) expect(await get(each), each).toBe(400);
    expect(place.bytes.every((byte) => byte === 0)).toBe(true);
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
    const place = await client.engine.allocate(17 * MIB);
    const { token } = await place.offer({ access: 'read', to: client.server });
    const headers = { [NAMES.card]: client.engine.card, [NAMES.token]: token };
    const { status } = await fetch(`${client.url}/objects/large`, { method: 'PUT', headers });
    expect(status).toBe(400);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('an object that changes between two pieces is refused', async () => {
  const { connect } = await serve();
  const client = await connect();
  await client.put('object', randomBytes(3 * MIB));
  const place = await client.engine.allocate(MIB);
  const pieces = client.pieces('object', place);
  await pieces.next();
  await client.put('object', randomBytes(3 * MIB));
  await expect(
    (async () => {
      for await (const piece of pieces) expect(piece.length).toBe(MIB / 2);
    })(),
  ).rejects.toThrow('412');
});
