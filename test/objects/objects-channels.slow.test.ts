// libfabric/objects: the limits of channels.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createObjectServer } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { ask, upgrade } from '../support/object-channels.js';
import { serve, TCP } from '../support/object-stores.js';
import { closed, stranger } from '../support/strangers.js';

const UPGRADE = Buffer.from(
  'OPTIONS / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: libfabric-objects\r\n\r\n',
);

/** A server of the program, which has no limit of its own. */
async function serveOnAnother(): Promise<number> {
  const { root } = await serve(undefined);
  const http = createServer();
  await once(http.listen(0, '127.0.0.1'), 'listening');
  const server = await createObjectServer(root, { server: http });
  onTestFinished(async () => {
    await server.close();
    http.closeAllConnections();
    http.close();
  });
  return (http.address() as AddressInfo).port;
}

test('a channel without a message, and one within a message, end after 30 seconds of silence', async () => {
  const port = await serveOnAnother();
  const silent = await stranger(port, UPGRADE);
  const partial = await stranger(port, Buffer.concat([UPGRADE, Buffer.from('10000000aa', 'hex')]));
  const from = performance.now();
  await Promise.all([closed(silent), closed(partial)]);
  expect(performance.now() - from).toBeGreaterThan(29_000);
});

test('a server has 1000 channels', async () => {
  const port = await serveOnAnother();
  const sockets: Socket[] = [];
  for (let i = 0; i < 1001; i++) {
    const { socket, status } = await upgrade(port);
    expect(status).toBe(101);
    sockets.push(socket.resume());
  }
  await closed(sockets[0] as Socket);
  expect(sockets.filter((socket) => socket.closed)).toHaveLength(1);
});

test('channels that had a request and are idle keep nobody out of a server with 1000 connections', async () => {
  const { url, connect } = await serve(TCP);
  const port = Number(new URL(url).port);
  const channels: Socket[] = [];
  for (let i = 0; i < 1100; i++) {
    const { socket, status } = await upgrade(port);
    expect(status).toBe(101);
    const answer = once(socket, 'data');
    ask(socket, 1, '/b/none');
    await answer;
    channels.push(socket);
  }
  expect((await fetch(`${url}/b`)).status).toBe(200);
  const client = await connect();
  await client.put('a', 'bytes');
  expect(Buffer.from((await client.get('a')).bytes).toString()).toBe('bytes');
  await expect.poll(() => channels.filter(({ closed }) => closed).length).toBeGreaterThan(100);
  expect(channels.slice(-800).filter(({ closed }) => closed)).toEqual([]);
});
