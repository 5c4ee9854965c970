// What runs over node:net runs over the sockets of libfabric/net.
import { once } from 'node:events';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as tcp from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, createServer, type FabricSocket, upgrade } from '../../dist/net/index.js';

async function serve(listener: (socket: FabricSocket) => void) {
  const sockets = new Set<FabricSocket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    listener(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const { port } = server.address() as tcp.AddressInfo;
  return { port, open: () => connect({ port, host: '127.0.0.1' }) };
}

const asTcp = (socket: FabricSocket) => socket as unknown as tcp.Socket;

describe('node:http', () => {
  async function service(answer: http.RequestListener) {
    const server = http.createServer(answer);
    server.emit('listening');
    const { open } = await serve((socket) => server.emit('connection', socket));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
    agent.createConnection = () => asTcp(open());
    onTestFinished(() => {
      agent.destroy();
      server.closeAllConnections();
    });
    return (options: http.RequestOptions, body?: Buffer) =>
      new Promise<{ status: number | undefined; body: Buffer }>((resolve, reject) => {
        const request = http.request({ agent, host: 'service', ...options }, async (response) => {
          resolve({ status: response.statusCode, body: Buffer.concat(await response.toArray()) });
        });
        request.on('error', reject).end(body);
      });
  }

  test('requests and responses with bodies, over connections that stay', async () => {
    const request = await service(async (incoming, response) => {
      const body = Buffer.concat(await incoming.toArray());
      response.setHeader('x-address', String(incoming.socket.remoteAddress));
      response.end(body);
    });
    for (const size of [0, 1, 1000, 5_000_000]) {
      const body = Buffer.alloc(size, 'abc');
      const got = await request({ method: 'POST', path: '/' }, body);
      expect([got.status, got.body.equals(body)]).toEqual([200, true]);
    }
    const all = await Promise.all(Array.from({ length: 50 }, () => request({ path: '/' })));
    expect(all.every(({ status }) => status === 200)).toBe(true);
  });

  test('a request that takes too long times out', async () => {
    const request = await service(() => {});
    await expect(
      new Promise((_, reject) => {
        void request({ path: '/', timeout: 20, signal: AbortSignal.timeout(200) }).catch(reject);
      }),
    ).rejects.toThrow();
  });

  test('Expect: 100-continue and an upgrade', async () => {
    const server = http.createServer();
    server.on('upgrade', (_request, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n',
      );
      socket.pipe(socket);
    });
    const { open } = await serve((socket) => server.emit('connection', socket));
    const request = http.request({
      createConnection: () => asTcp(open()),
      headers: { connection: 'upgrade', upgrade: 'echo' },
    });
    request.end();
    const [, socket] = await once(request, 'upgrade');
    socket.end('hello');
    expect(Buffer.concat(await socket.toArray()).toString()).toBe('hello');
  });
});

test('node:http2: an echo of 2 MB in both directions at once, and 32 streams', async () => {
  const server = http2.createServer();
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
  });
  const { open } = await serve((socket) => server.emit('connection', socket));
  const client = http2.connect('http://service', { createConnection: () => open() });
  onTestFinished(() => void client.destroy());
  const body = Buffer.alloc(2_000_000, 'xyz');
  const echoes = async (bytes: Buffer) => {
    const stream = client.request({ ':method': 'POST' });
    stream.end(bytes);
    return Buffer.concat(await stream.toArray()).equals(bytes);
  };
  expect(await echoes(body)).toBe(true);
  // More would exceed maxSessionMemory.
  const part = body.subarray(0, 100_000);
  const all = await Promise.all(Array.from({ length: 32 }, () => echoes(part)));
  expect(all).toEqual(all.map(() => true));
});

test('node:tls over a socket', async () => {
  const { TEST_KEY, TEST_CERT } = await import('../support/certificate.js');
  const { open } = await serve((socket) => {
    const secure = new TLSSocket(asTcp(socket), { isServer: true, key: TEST_KEY, cert: TEST_CERT });
    secure.pipe(secure);
  });
  const client = connectTls({ socket: asTcp(open()), ca: TEST_CERT, servername: 'localhost' });
  await once(client, 'secureConnect');
  expect([client.authorized, client.authorizationError]).toEqual([true, null]);
  const body = Buffer.alloc(1_000_000, 'tls');
  let left = body.length;
  const read: Buffer[] = [];
  const all = new Promise<void>((resolve) => {
    client.on('data', (bytes) => {
      read.push(bytes);
      left -= bytes.length;
      if (left <= 0) resolve();
    });
  });
  client.write(body);
  await all;
  client.end();
  expect(Buffer.concat(read).equals(body)).toBe(true);
});

test('upgrade() turns both ends of a connection into sockets of a session', async () => {
  const listener = tcp.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  const accepted = once(listener, 'connection');
  const raw = tcp.connect((listener.address() as tcp.AddressInfo).port, '127.0.0.1');
  await once(raw, 'connect');
  const [a, b] = await Promise.all([upgrade(raw), accepted.then(([socket]) => upgrade(socket))]);
  a.end('to b');
  expect(Buffer.concat(await b.toArray()).toString()).toBe('to b');
  const ended = Promise.all([raw, ...(await accepted)].map((each) => once(each, 'close')));
  await Promise.all([a, b].map((socket) => socket.resume().closed || once(socket, 'close')));
  await ended;
});

test('a connection ends when the only socket that upgrade() has made of it is destroyed', async () => {
  const server = createServer({}, (socket) => void socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const raw = tcp.connect((server.address() as tcp.AddressInfo).port, '127.0.0.1');
  const socket = await upgrade(raw);
  await once(socket, 'connect');
  socket.destroy();
  await once(raw, 'close');
});

test('upgrade() reaches a server of this module', async () => {
  const server = createServer({}, (socket) => socket.end('from the server')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  for (let i = 0; i < 4; i++) {
    const raw = tcp.connect((server.address() as tcp.AddressInfo).port, '127.0.0.1');
    const socket = await upgrade(raw);
    expect(Buffer.concat(await socket.toArray()).toString()).toBe('from the server');
  }
});

test('upgrade() fails after its timeout if the peer opens no socket', async () => {
  const server = tcp.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const accepted = once(server, 'connection');
  const raw = tcp.connect((server.address() as tcp.AddressInfo).port, '127.0.0.1');
  const [peer] = await accepted;
  onTestFinished(() => void peer.destroy());
  peer.once('data', (line: Buffer) => {
    const [begin, hello] = line.toString().split(/(?=\{)/);
    const mine = { ...JSON.parse(hello as string), nonce: '0'.repeat(32), role: 'client' };
    peer.write(`${begin}${JSON.stringify(mine)}\n`);
  });
  await expect(upgrade(raw, { timeout: 200 })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
});
