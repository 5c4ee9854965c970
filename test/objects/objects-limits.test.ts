// libfabric/objects: what a stranger cannot make a server keep: memory, time and connections.
import { once } from 'node:events';
import { truncateSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { Budget } from '../../dist/objects/budget.js';
import { encodeMessage } from '../../dist/objects/channel.js';
import { Link } from '../../dist/objects/link.js';
import { MIB, openEngine, serve, TCP } from '../support/object-stores.js';
import { closed } from '../support/strangers.js';

async function dial(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** A channel that asks and does not read. */
async function hog(url: string, asks: number): Promise<Socket> {
  const socket = await dial(url);
  socket.write(
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: libfabric-objects\r\n\r\n',
  );
  await once(socket, 'data');
  socket.pause();
  for (let id = 1; id <= asks; id++) {
    const message = encodeMessage(id, ['GET', '/b/big', { range: 'bytes=0-15999999' }]);
    message.writeUInt32LE(message.length - 4);
    socket.write(message);
  }
  return socket;
}

test('channels that ask and do not read keep 32 MiB each, and others get their answers', async () => {
  const { url, folder, connect: open } = await serve(TCP);
  writeFileSync(join(folder, 'big'), '');
  truncateSync(join(folder, 'big'), 16 * MIB);
  const client = await open();
  await client.put('small', 'bytes');
  const before = process.memoryUsage().arrayBuffers;
  const grown = () => (process.memoryUsage().arrayBuffers - before) / MIB;
  const hogs = [await hog(url, 1000), await hog(url, 1000)];
  await expect.poll(grown).toBeGreaterThan(16);
  for (let i = 0; i < 50; i++) {
    expect(Buffer.from((await client.get('small')).bytes).toString()).toBe('bytes');
    expect(grown()).toBeLessThan(120);
  }
  for (const each of hogs) each.destroy();
  const reader = await hog(url, 6);
  let read = 0;
  reader.on('data', (chunk: Buffer) => {
    read += chunk.length;
  });
  reader.resume();
  await expect.poll(() => read, { timeout: 30_000 }).toBeGreaterThan(6 * 15_999_999);
});

test('a budget gives bytes in order, and no more than there are', async () => {
  const budget = new Budget(10);
  const order: string[] = [];
  const take = async (name: string, bytes: number) => {
    await budget.take(bytes);
    order.push(name);
  };
  expect(budget.take(6)).toBeUndefined();
  const all = [take('too much', 100), take('a little', 1)];
  budget.give(6);
  await Promise.resolve();
  await all[0];
  expect(order).toEqual(['too much']);
  budget.give(100);
  await Promise.all(all);
  expect(order).toEqual(['too much', 'a little']);
  budget.give(1);
  expect(budget.take(10)).toBeUndefined();
});

test('a link ends when its peer reads nothing, also while the peer sends', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const peer = await dial(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
  const [socket] = await accepted;
  peer.pause();
  let error: unknown;
  const link = new Link(socket, 1000, {
    message: () => {},
    closed: (reason) => {
      error = reason;
    },
  });
  link.start(Buffer.alloc(0));
  link.limitSilence(100);
  const noise = setInterval(() => peer.write(Buffer.from([1, 0, 0, 0, 7])), 20);
  onTestFinished(() => clearInterval(noise));
  link.send(Buffer.alloc(64 * MIB));
  await closed(socket);
  expect(error).toMatchObject({ code: 'ETIMEDOUT', syscall: 'write' });
});

const CHUNKED = { 'content-encoding': 'aws-chunked' };

test('a body has at most 64 trailers', async () => {
  const { url } = await serve(undefined);
  const put = async (trailers: number) => {
    const lines = Array.from({ length: trailers }, (_, i) => `a${i}: b\r\n`).join('');
    const body = `1\r\na\r\n0\r\n${lines}\r\n`;
    return (await fetch(`${url}/b/a`, { method: 'PUT', body, headers: CHUNKED })).status;
  };
  expect(await put(64)).toBe(200);
  expect(await put(65)).toBe(400);
});

/** Sends a PUT whose body is malformed after a while, and then what is left of it. */
async function malformed(url: string, length: number): Promise<[Socket, string]> {
  const socket = await dial(url);
  const chunk = `1000\r\n${'a'.repeat(4096)}\r\n`;
  socket.write(
    `PUT /b/a HTTP/1.1\r\nHost: a\r\nContent-Encoding: aws-chunked\r\nContent-Length: ${length}\r\n\r\n`,
  );
  const start = Buffer.from(`${chunk.repeat(10)}wrong\r\n`);
  socket.write(start);
  const [answer] = await once(socket, 'data');
  socket.write(Buffer.alloc(length - start.length, 'a'));
  return [socket, String(answer)];
}

test('after an error in the middle of a body, the rest is read', async () => {
  const { url } = await serve(undefined);
  const [socket, answer] = await malformed(url, MIB);
  expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*Connection: keep-alive/);
  socket.write('GET /b/a HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 404 /);
});

test('a long one ends its connection, and says so', async () => {
  const { url } = await serve(undefined);
  const [socket, answer] = await malformed(url, 8 * MIB);
  expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*connection: close/);
  expect(answer).toContain('aws-chunked');
  socket.resume();
  await closed(socket);
  expect(socket.errored).toBeNull(); // no reset: the client can read the answer
});

test('close() of a client that is connecting leaves no channel', async () => {
  let connections = 0;
  const http = createHttp();
  http.on('connection', (socket) => {
    connections += 1;
    socket.on('close', () => {
      connections -= 1;
    });
  });
  const { url } = await serve(TCP, { server: http });
  onTestFinished(() => void http.close());
  const engine = await openEngine(TCP);
  const clients = Array.from({ length: 20 }, () => new ObjectClient(`${url}/b`, { engine }));
  await Promise.all(
    clients.map(async (client, i) => {
      const put = client.put(`a${i}`, 'bytes').catch((error: Error) => error);
      for (let turn = 0; turn < i; turn++) await new Promise(setImmediate);
      await client.close();
      await put;
    }),
  );
  await expect.poll(() => connections).toBe(0);
});
