// libfabric/objects: servers that answer nothing, and clients that speak something else.
import { once } from 'node:events';
import { createServer as createHttp, request as requestHttp } from 'node:http';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { createObjectServer, ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { openEngine, serve, TCP } from '../support/object-stores.js';
import { closed, stranger } from '../support/strangers.js';

test('a call of a server that answers nothing ends at its timeout', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket));
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const { port } = Object(silent.address());
  const url = `http://127.0.0.1:${port}/b`;
  for (const options of [{}, { engine: await openEngine(TCP) }]) {
    const client = new ObjectClient(url, { ...options, timeout: 20 });
    await expect(client.get('a')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await client.close();
  }
});

test('a call over a channel ends at its timeout, and the next one opens another channel', async () => {
  let release = () => {};
  const asked = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { url, connect } = await serve(TCP, {
    authorize: async ({ key }) => {
      if (key === 'slow') await asked;
      return true;
    },
  });
  const client = await connect({ timeout: 300 });
  await client.put('a', '1');
  await expect(client.get('slow')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  release();
  expect(Buffer.from((await client.get('a')).bytes).toString()).toBe('1');
  expect(client.url).toBe(`${url}/b`);
});

const UPGRADE =
  'OPTIONS / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: libfabric-objects\r\n\r\n';

test('clients that reset their connections at any moment do not end the server', async () => {
  const { url } = await serve(undefined);
  const port = Number(new URL(url).port);
  const other = UPGRADE.replace('libfabric-objects', 'h2c').replace('OPTIONS /', 'GET /b');
  for (const text of ['', 'GET / HT', UPGRADE, `${UPGRADE}\x10\0\0\0abc`, other]) {
    const clients = await Promise.all(
      Array.from({ length: 3 }, () => stranger(port, Buffer.from(text, 'latin1'))),
    );
    clients[0]?.resetAndDestroy();
    setImmediate(() => clients[1]?.resetAndDestroy());
    clients[2]?.once('data', () => clients[2]?.resetAndDestroy());
  }
  expect((await fetch(`${url}/b`)).status).toBe(200);
});

test('a server that closes connections that ask for a channel gets the requests over HTTP', async () => {
  const { url } = await serve(TCP);
  const { port } = new URL(url);
  let refused = 0;
  const proxy = createHttp((request, response) => {
    const { method, url: path, headers } = request;
    const onward = requestHttp({ port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode as number, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  proxy.on('upgrade', (_request, socket) => {
    refused += 1;
    socket.destroy();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void proxy.close());
  const client = new ObjectClient(`http://127.0.0.1:${Object(proxy.address()).port}/b`, {
    engine: await openEngine(TCP),
  });
  onTestFinished(() => client.close());
  await client.put('a', '1');
  expect(Buffer.from((await client.get('a')).bytes).toString()).toBe('1');
  expect(refused).toBe(1);
});

test('a channel ends when the client sends what is no message', async () => {
  const { url } = await serve(TCP);
  const { port } = new URL(url);
  const bad = {
    'a length of nothing': Buffer.alloc(4),
    'a length past the limit': Buffer.from('ffffffff', 'hex'),
    'no head': Buffer.from('0800000001000000ffffffff', 'hex'),
    'a head that is no JSON': Buffer.concat([
      Buffer.from('090000000100000000000000', 'hex'),
      Buffer.from('x'),
    ]),
    'a head of other types': Buffer.concat([
      Buffer.from('130000000100000000000000', 'hex'),
      Buffer.from('["GET",1,{}]'.slice(0, 11)),
    ]),
  };
  for (const [what, bytes] of Object.entries(bad)) {
    const behind = await stranger(Number(port), Buffer.concat([Buffer.from(UPGRADE), bytes]));
    await closed(behind);
    const socket = connectTcp(Number(port), '127.0.0.1');
    socket.write(UPGRADE);
    const [answer] = await once(socket, 'data');
    expect(String(answer), what).toContain(' 101 ');
    socket.resume().write(bytes);
    await closed(socket);
  }
  expect((await fetch(`${url}/b`)).status).toBe(200);
});

test('a client that asks for another upgrade is answered without one', async () => {
  const { url } = await serve(TCP);
  const socket = connectTcp(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write('GET /b HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toContain('HTTP/1.1 200 ');
});

test('a server of the program answers, and stays open', async () => {
  const { root } = await serve(undefined);
  const http = createHttp();
  await once(http.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void http.close());
  const server = await createObjectServer(root, { server: http });
  const client = new ObjectClient(`${server.url}/b`);
  await client.put('a', '1');
  await client.close();
  await server.close();
  expect(http.listening).toBe(true);
  expect([http.listenerCount('request'), http.listenerCount('upgrade')]).toEqual([0, 0]);
});
