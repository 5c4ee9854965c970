// libfabric/objects: what a stranger cannot make a server keep: memory, time and connections.
import { once } from 'node:events';
import { truncateSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { type Arrival, Arriving } from '../../dist/objects/arriving.js';
import { Budget, Reserve, Share } from '../../dist/objects/budget.js';
import { encodeMessage } from '../../dist/objects/channel.js';
import { Link } from '../../dist/objects/link.js';
import { rangeOf } from '../../dist/objects/versions.js';
import { partsOf } from '../../dist/objects/xml.js';
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

test('while others have all memory, a channel has some for one short call after the other', async () => {
  const all = new Budget(100);
  const reserve = new Reserve(10);
  const shares = Array.from({ length: 4 }, () => new Share(reserve, [new Budget(50), all]));
  expect(all.take(100)).toBeUndefined();
  expect(shares[0]?.take(10)).toBeUndefined();
  const waiting = shares.slice(1, 3).map((share) => share.take(10));
  shares[0]?.give();
  await waiting[0];
  shares[1]?.give();
  await waiting[1];
  const long = shares[3]?.take(11);
  shares[2]?.give();
  all.give(100);
  await long;
  shares[3]?.give();
  expect(all.take(100)).toBeUndefined();
});

test('of messages that arrive at the same time, those that began first end if they have too many bytes', async () => {
  const arriving = new Arriving(10);
  const ended: number[] = [];
  const arrivals = [0, 1, 2].map((i) => ({ crowdedOut: () => void ended.push(i) }));
  const [first, second, third] = arrivals as [Arrival, Arrival, Arrival];
  arriving.part(first, 4);
  arriving.part(second, 4);
  arriving.part(first, 6);
  expect(ended).toEqual([]);
  arriving.part(third, 5);
  expect([ended, arriving.bytes]).toEqual([[0], 9]);
  arriving.whole(second);
  arriving.part(third, 11);
  expect([ended, arriving.bytes]).toEqual([[0, 2], 0]);
});

test('channels that begin messages keep 64 MiB together, and those that began first end', async () => {
  const { url, connect: open } = await serve(TCP);
  const client = await open();
  const message = encodeMessage(1, ['PUT', '/b/a', {}], Buffer.alloc(1.9 * MIB));
  message.writeUInt32LE(message.length - 4);
  const begin = async () => {
    const socket = await hog(url, 0);
    await new Promise((sent) => socket.resume().write(message.subarray(0, -1), sent));
    return socket;
  };
  const first = await begin();
  for (let i = 0; i < 34; i++) await begin();
  await closed(first);
  await client.put('a', new Uint8Array(200_000));
});

test('a connection has one answer in memory, and at most 64 requests that wait for it', async () => {
  const { url, folder } = await serve(undefined);
  writeFileSync(join(folder, 'short'), Buffer.alloc(256 * 1024));
  const request = 'GET /b/short HTTP/1.1\r\nHost: a\r\n\r\n';
  const before = process.memoryUsage().arrayBuffers;
  const waiting = await dial(url);
  waiting.pause().write(request.repeat(64));
  const many = await dial(url);
  many.write(request.repeat(500));
  await closed(many);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MIB);
  let read = 0;
  waiting.on('data', (chunk: Buffer) => {
    read += chunk.length;
  });
  waiting.resume();
  await expect.poll(() => read, { timeout: 30_000 }).toBeGreaterThan(64 * 256 * 1024);
});

test('a range of a megabyte of white space takes no time', () => {
  const version = { size: 10, modified: 1, inode: 1 };
  const from = performance.now();
  for (const start of ['bytes=1-', 'bytes=', 'bytes=-', 'bytes=1'])
    expect(rangeOf({ range: `${start}${' '.repeat(MIB)}x` }, version)).toBeUndefined();
  expect(performance.now() - from).toBeLessThan(5000);
  expect(rangeOf({ range: 'bytes= 1 - 3 ' }, version)).toEqual({ start: 1, end: 4 });
});

test('the list of an upload has at most 10,000 parts', () => {
  const list = (count: number) =>
    '<Part><PartNumber>1</PartNumber><ETag>a</ETag></Part>'.repeat(count);
  expect(partsOf(list(10_000))).toHaveLength(10_000);
  expect(() => partsOf(list(10_001))).toThrow(/at most 10000 parts/);
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

/** Sends a PUT whose body is malformed after a while, and then what is left of it. */
async function malformed(url: string, length: number): Promise<[Socket, string]> {
  const socket = await dial(url);
  const chunk = `1000\r\n${'a'.repeat(4096)}\r\n`;
  socket.write(
    `PUT /b/a HTTP/1.1\r\nHost: a\r\nContent-Encoding: aws-chunked\r\nX-Amz-Decoded-Content-Length: 9\r\nContent-Length: ${length}\r\n\r\n`,
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
