// libfabric/objects refuses wrong addresses and tokens.
import { createObjectServer, ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test, vi } from 'vitest';
import { pattern } from '../support/bytes.js';
import { HANG_MS } from '../support/limits.js';
import { openEngine, serve, TCP, temporaryIn } from '../support/object-stores.js';

const ADDRESS = 'x-libfabric-address';
const TOKEN = 'x-libfabric-token';

async function prepared() {
  const { root, url } = await serve(TCP, { pieceSize: 65_536 });
  const engine = await openEngine(TCP);
  const { address } = (await (await fetch(`${url}/.libfabric`)).json()) as { address: string };
  const server = await engine.peer(address);
  await fetch(`${url}/b/object`, { method: 'PUT', body: pattern(1000) });
  const memory = await engine.allocate(100_000);
  const offer = (access: 'read' | 'write', length = 1000, more = {}) =>
    memory.slice(0, length).offer({ access, to: server, ...more });
  const status = async (method: string, headers: Record<string, string>) => {
    const response = await fetch(`${url}/b/object`, { method, headers });
    const text = await response.text();
    expect(text).not.toContain(root);
    return response.status;
  };
  const get = (token: string, more = {}) =>
    status('GET', { [ADDRESS]: engine.address, [TOKEN]: token, ...more });
  return { root, engine, memory, offer, status, get };
}

test('a wrong address', async () => {
  const { engine, offer, status } = await prepared();
  const { token } = await offer('write');
  const shm = (await openEngine({ provider: 'shm' })).address;
  const { address } = engine;
  for (const each of ['', 'address', `${address}A`, address.slice(0, -1), token, shm])
    expect(await status('GET', { [ADDRESS]: each, [TOKEN]: token }), each).toBe(400);
  expect(await status('GET', { [TOKEN]: token })).toBe(400);
});

test('a wrong token', async () => {
  const { root, engine, memory, offer, get, status } = await prepared();
  const { token } = await offer('write');
  const half = (await offer('write', 500)).token;
  const reading = (await offer('read')).token;
  const third = await engine.peer((await openEngine(TCP)).address);
  const toThird = await memory.slice(0, 1000).offer({ access: 'write', to: third });
  const changed = `${token.slice(0, 20)}${token[20] === 'A' ? 'B' : 'A'}${token.slice(21)}`;
  const all = ['', 'token', engine.address, changed, half, reading, toThird.token];
  for (const each of [...all, `${token},${token}`]) expect(await get(each), each).toBe(400);
  expect(memory.bytes.every((byte) => byte === 0)).toBe(true);
  expect(await get(`${half}, ${(await offer('write', 500)).token}`)).toBe(200);
  const long = (await offer('read', 65_537)).token; // more than a buffer of the server
  expect(await status('PUT', { [ADDRESS]: engine.address, [TOKEN]: long })).toBe(400);
  expect(temporaryIn(root)).toEqual([]);
});

test('a put() whose token expires because a clock jumps says so', async () => {
  let late = 0;
  const authorize = ({ method }: { method: string }) => {
    if (method === 'PUT') late = 3_600_000;
    return true;
  };
  const { connect } = await serve(TCP, { authorize });
  const client = await connect();
  const now = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + late);
  onTestFinished(() => clock.mockRestore());
  await expect(client.put('long', new Uint8Array(1_000_000))).rejects.toMatchObject({
    code: 'FabricFailed',
    message: expect.stringContaining('has expired by the clock of the server'),
    hint: expect.stringContaining('clocks'),
  });
});

test('an expired token', async () => {
  const { offer, get } = await prepared();
  const expired = await offer('write', 1000, { expires: 1 });
  await expired.released;
  await vi.waitFor(async () => expect(await get(expired.token)).toBe(400), { timeout: HANG_MS });
});

test('a range or a version that the object does not have', async () => {
  const { offer, get } = await prepared();
  const { token } = await offer('write', 10);
  expect(await get(token, { range: 'bytes=1000-1009' })).toBe(416);
  expect(await get(token, { range: 'bytes=995-1004' })).toBe(400); // of 5 bytes
  expect(await get(token, { range: 'bytes=0-4,100-104' })).toBe(400); // of all bytes
  expect(await get(token, { range: 'bytes=0-9', 'if-match': '"other"' })).toBe(412);
  expect(await get(token, { range: 'bytes=990-999' })).toBe(206);
});

test.each<[string, () => unknown]>([
  ['ERR_INVALID_ARG_TYPE', () => createObjectServer(1 as never)],
  ['ERR_INVALID_ARG_TYPE', () => createObjectServer('/tmp', { engine: {} as never })],
  ['ERR_INVALID_ARG_VALUE', () => createObjectServer('/tmp', { colour: 1 } as never)],
  ['ERR_OUT_OF_RANGE', () => createObjectServer('/tmp', { buffers: 0 })],
  ['ENOENT', () => createObjectServer('/tmp/there-is-no-such-folder')],
  ['ERR_INVALID_ARG_VALUE', () => new ObjectClient('ftp://a/b')],
  ['ERR_INVALID_ARG_VALUE', () => new ObjectClient('http://a')],
  ['ERR_INVALID_ARG_TYPE', () => new ObjectClient('http://a/b', { pool: {} } as never)],
  ['ERR_INVALID_ARG_TYPE', () => new ObjectClient('http://a/b', { engine: 1 as never })],
  ['ERR_INVALID_ARG_TYPE', () => new ObjectClient('http://a/b').get(1 as never)],
  ['ERR_INVALID_ARG_VALUE', () => new ObjectClient('http://a/b').get('a', { x: 1 } as never)],
  ['ERR_INVALID_ARG_TYPE', () => new ObjectClient('http://a/b').put('a', 1 as never)],
])('%s: %o', async (code, call) => {
  const error = await (async () => call())().catch((reason) => reason);
  expect(error).toMatchObject({ code });
});
