// upgrade(): what it cannot turn into a socket of a session is destroyed, and the caller learns why.
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connect, type FabricSocket, type UpgradeOptions, upgrade } from '../../dist/net/index.js';

const HOST = '127.0.0.1';
const shm = { provider: 'shm' };

/** Both sides of a connection over TCP. */
async function connection(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, HOST);
  await once(server, 'listening');
  const client = connectTcp(Object(server.address()).port, HOST);
  const [accepted] = (await once(server, 'connection')) as [Socket];
  server.close();
  onTestFinished(() => {
    client.destroy();
    accepted.destroy();
  });
  return [client, accepted];
}

/** Both sides of a socket over a connection. */
async function upgradeBoth([client, accepted]: [Socket, Socket], options: UpgradeOptions = shm) {
  return Promise.all([upgrade(client, options), upgrade(accepted, options)]);
}

test('the sockets of both sides carry bytes', async () => {
  const [a, b] = await upgradeBoth(await connection());
  a.end('there');
  b.end('back');
  expect(String(await b.toArray())).toBe('there');
  expect(String(await a.toArray())).toBe('back');
});

test('a connection is upgraded once, and a second call changes nothing', async () => {
  const both = await connection();
  const [a, b] = await upgradeBoth(both);
  const second = upgrade(both[0], shm);
  await expect(second).rejects.toMatchObject({ code: 'ERR_INVALID_STATE' });
  a.end('still there');
  b.end();
  expect(String(await b.toArray())).toBe('still there');
});

test('wrong options change nothing: the connection can be upgraded afterwards', async () => {
  const both = await connection();
  for (const wrong of [{ timeout: -1 }, { signal: 1 }, { admit: 1 }])
    await expect(upgrade(both[0], wrong as never)).rejects.toThrow(/options/);
  const [a, b] = await upgradeBoth(both);
  a.end('through');
  b.end();
  expect(String(await b.toArray())).toBe('through');
});

const WAYS: [string, (peer: Socket, abort: AbortController) => unknown, string][] = [
  ['sends something else', (peer) => peer.write('hello\n'), 'ERR_SOCKET_BAD_PROTOCOL'],
  ['sends nothing', () => {}, 'ETIMEDOUT'],
  ['ends', (peer) => peer.end(), 'ECONNRESET'],
  ['resets', (peer) => peer.resetAndDestroy(), 'ECONNRESET'],
  ['is still silent at the abort', (_peer, abort) => abort.abort(new Error('why')), 'ABORT_ERR'],
];

test.each(WAYS)('a peer that %s', async (_name, act, code) => {
  const [client, peer] = await connection();
  peer.on('error', () => {}).resume();
  const abort = new AbortController();
  const upgraded = upgrade(client, { ...shm, timeout: 200, signal: abort.signal });
  const refused = expect(upgraded).rejects.toMatchObject({ code });
  act(peer, abort);
  await refused;
  expect(client.destroyed).toBe(true);
});

test('a connection that is paused, or has bytes, is upgraded', async () => {
  const [client, accepted] = await connection();
  client.pause();
  accepted.pause();
  const [a, b] = await upgradeBoth([client, accepted]);
  a.end('through');
  b.end();
  expect(String(await b.toArray())).toBe('through');
});

test('a connection with an encoding is refused, and destroyed by nobody', async () => {
  const [client] = await connection();
  client.setEncoding('utf8');
  await expect(upgrade(client, shm)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' });
  expect(client.destroyed).toBe(false);
});

test('a socket whose server is one of HTTP fails, and the error names FabricAgent', async () => {
  const server = createHttp().listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const socket: FabricSocket = connect({ port: Object(server.address()).port, host: HOST, ...shm });
  const [error] = await once(socket, 'error');
  expect(error).toMatchObject({ code: 'ERR_SOCKET_BAD_PROTOCOL' });
  expect(String(error)).toContain('FabricAgent');
});
