// HTTP servers of today at their own ports, which clients with a FabricAgent reach over the fabric.
import '../support/softefa.js';
import { once } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { attach, FabricAgent } from '../../dist/net/index.js';

const cases: [string, object][] = [
  ['shm', { provider: 'shm' }],
  ['efa', { provider: 'efa' }],
  ['no fabric', {}],
];

const echo: http.RequestListener = async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  response.setHeader('x-socket', request.socket.constructor.name);
  response.end(body);
};

async function listen(server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function send(request: http.ClientRequest, body: Buffer) {
  return new Promise<{ socket: string; body: Buffer }>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', async (response) => {
      const bytes = Buffer.concat(await response.toArray());
      resolve({ socket: String(response.headers['x-socket']), body: bytes });
    });
    request.end(body);
  });
}

describe.each(cases)('%s', (_name, options) => {
  test('requests of an agent travel over the fabric, those of others over TCP', async () => {
    const server = http.createServer(echo);
    attach(server, options);
    const port = await listen(server);
    const agent = new FabricAgent({ keepAlive: true, ...options });
    onTestFinished(() => agent.destroy());
    const ask = (size: number, by?: http.Agent) => {
      const body = Buffer.alloc(size, 'body');
      const request = http.request({
        port,
        host: '127.0.0.1',
        method: 'POST',
        ...(by && { agent: by }),
      });
      return send(request, body).then((got) => [got.socket, got.body.equals(body)]);
    };
    for (const size of [0, 1000, 3_000_000]) {
      expect(await ask(size, agent)).toEqual(['FabricSocket', true]);
    }
    const all = await Promise.all(Array.from({ length: 40 }, () => ask(5000, agent)));
    expect(all).toEqual(all.map(() => ['FabricSocket', true]));
    expect(await ask(1000)).toEqual(['Socket', true]);
  });
});

test('an agent stays on TCP if the server does not offer the fabric', async () => {
  const port = await listen(http.createServer(echo));
  const agent = new FabricAgent({ provider: 'shm' });
  onTestFinished(() => agent.destroy());
  const request = http.request({ port, host: '127.0.0.1', agent, method: 'POST' });
  expect(await send(request, Buffer.from('x'))).toEqual({
    socket: 'Socket',
    body: Buffer.from('x'),
  });
});

test('an agent that requires the fabric never uses TCP instead', async () => {
  const agent = new FabricAgent({ provider: 'shm', require: 'fabric' });
  onTestFinished(() => agent.destroy());
  const ask = (port: number) =>
    send(http.request({ port, host: '127.0.0.1', agent }), Buffer.alloc(0));
  const withoutOffer = await listen(http.createServer(echo));
  await expect(ask(withoutOffer)).rejects.toMatchObject({ code: 'EPROTONOSUPPORT' });
  const server = http.createServer(echo);
  attach(server);
  await expect(ask(await listen(server))).rejects.toMatchObject({ code: 'EPROTONOSUPPORT' });
});

test('other listeners for upgrades do not see the requests of an agent', async () => {
  const seen: unknown[] = [];
  const server = http.createServer(echo);
  server.on('upgrade', (request) => seen.push(request.headers.upgrade));
  attach(server, { provider: 'shm' });
  server.on('upgrade', (request, socket) => {
    seen.push(request.headers.upgrade);
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  });
  const port = await listen(server);
  const agent = new FabricAgent({ provider: 'shm' });
  onTestFinished(() => agent.destroy());
  const request = http.request({ port, host: '127.0.0.1', agent });
  expect((await send(request, Buffer.alloc(0))).socket).toBe('FabricSocket');
  expect(seen).toEqual([]);
  const headers = { connection: 'Upgrade', upgrade: 'other' };
  const other = http.request({ port, host: '127.0.0.1', headers });
  await send(other, Buffer.alloc(0));
  expect(seen).toEqual(['other', 'other']);
});

test('a request for another upgrade is answered as without attach()', async () => {
  const server = http.createServer(echo);
  attach(server, { provider: 'shm' });
  const port = await listen(server);
  const request = http.request({
    port,
    host: '127.0.0.1',
    headers: { connection: 'Upgrade', upgrade: 'other' },
  });
  expect((await send(request, Buffer.alloc(0))).socket).toBe('Socket');
});

test('over TLS, the session is of the server with the certificate', async () => {
  const { TEST_KEY, TEST_CERT } = await import('../support/certificate.js');
  const server = https.createServer({ key: TEST_KEY, cert: TEST_CERT }, (request, response) => {
    const { encrypted } = request.socket as { encrypted?: boolean };
    response.setHeader('x-socket', `${request.socket.constructor.name} ${encrypted}`);
    response.end();
  });
  attach(server, { provider: 'shm' });
  const port = await listen(server);
  const agent = new FabricAgent({ keepAlive: true, provider: 'shm' });
  onTestFinished(() => agent.destroy());
  const options = { port, host: 'localhost', agent: agent as unknown as https.Agent };
  const trusted = https.request({ ...options, ca: TEST_CERT });
  expect((await send(trusted, Buffer.alloc(0))).socket).toBe('FabricSocket true');
  await expect(send(https.request(options), Buffer.alloc(0))).rejects.toThrow(
    /self-signed|certificate/,
  );
});
