// Web frameworks and undici run unmodified over the sockets of libfabric/net.
import '../support/softefa.js';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import express from 'express';
import Fastify from 'fastify';
import { Agent, Client, fetch } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { attach, connect, FabricAgent, type FabricOptions } from '../../dist/net/index.js';
import { TEST_CERT, TEST_KEY } from '../support/certificate.js';
import { asTcp, fabrics, listen, serve } from '../support/net-sockets.js';

const echo: http.RequestListener = async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  response.setHeader('x-socket', request.socket.constructor.name);
  response.end(body);
};

function agentOf(options: FabricOptions): FabricAgent {
  const agent = new FabricAgent({ keepAlive: true, ...options });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** Requests an answer in JSON. */
function ask(options: http.RequestOptions, body?: object) {
  return new Promise<{ socket: string; json: unknown }>((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const request = http.request({ host: '127.0.0.1', headers, ...options });
    request.on('error', reject).on('response', async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      resolve({ socket: String(response.headers['x-socket']), json: JSON.parse(text) });
    });
    request.end(body && JSON.stringify(body));
  });
}

describe.each(fabrics)('over %s', (_name, options) => {
  describe('undici', () => {
    async function service(): Promise<{ origin: string; connector: Agent.Options }> {
      const server = http.createServer(echo);
      server.emit('listening');
      onTestFinished(() => server.closeAllConnections());
      const { port, open } = await serve(options, (socket) => server.emit('connection', socket));
      return {
        origin: `http://127.0.0.1:${port}`,
        connector: { connect: (_wanted, created) => setImmediate(created, null, asTcp(open())) },
      };
    }

    test('a Client whose connector returns a socket sends GET and POST over it', async () => {
      const { origin, connector } = await service();
      const client = new Client(origin, connector);
      onTestFinished(() => client.destroy());
      const got = await client.request({ path: '/', method: 'GET' });
      expect([got.headers['x-socket'], await got.body.text()]).toEqual(['FabricSocket', '']);
      for (const size of [1, 100_000, 3_000_000]) {
        const body = Buffer.alloc(size, 'undici');
        const answer = await client.request({ path: '/', method: 'POST', body });
        expect(Buffer.from(await answer.body.arrayBuffer()).equals(body)).toBe(true);
      }
    });

    test('fetch() through an Agent: many requests at once, and a body that is a stream', async () => {
      const { origin, connector } = await service();
      const dispatcher = new Agent({ ...connector, connections: 4, pipelining: 1 });
      onTestFinished(() => dispatcher.destroy());
      const texts = Array.from({ length: 30 }, (_, i) => `request ${i}`);
      const answers = texts.map(async (body) =>
        (await fetch(origin, { dispatcher, method: 'POST', body })).text(),
      );
      expect(await Promise.all(answers)).toEqual(texts);
      const body = new Blob([Buffer.alloc(1_000_000, 'stream')]).stream();
      const response = await fetch(origin, { dispatcher, method: 'POST', body, duplex: 'half' });
      expect((await response.arrayBuffer()).byteLength).toBe(1_000_000);
    });
  });

  test('Fastify sees the address of the client, and its plugins and hooks run', async () => {
    const app = Fastify();
    onTestFinished(() => app.close());
    app.addHook('onRequest', async (request, reply) => {
      reply.header('x-socket', request.socket.constructor.name);
    });
    app.post('/:name', async ({ ip, protocol, params, body }) => ({ ip, protocol, params, body }));
    attach(app.server, options);
    await app.ready();
    const port = await listen(app.server);
    const request = { port, method: 'POST', path: '/one' };
    const json = { ip: '127.0.0.1', protocol: 'http', params: { name: 'one' }, body: { a: 1 } };
    const agent = agentOf(options);
    expect(await ask({ ...request, agent }, { a: 1 })).toEqual({ socket: 'FabricSocket', json });
    expect(await ask(request, { a: 1 })).toEqual({ socket: 'Socket', json });
  });

  test('Express sees the address of the client, and its middleware runs', async () => {
    const app = express();
    app.use(express.json({ limit: '1mb' }));
    app.post('/:name', (request, response) => {
      response.setHeader('x-socket', request.socket.constructor.name);
      const { ip, protocol, params, body } = request;
      response.json({ ip, protocol, params, body });
    });
    const server = http.createServer(app);
    attach(server, options);
    const port = await listen(server);
    const agent = agentOf(options);
    const body = { long: 'x'.repeat(500_000) };
    expect(await ask({ port, method: 'POST', path: '/two', agent }, body)).toEqual({
      socket: 'FabricSocket',
      json: { ip: '127.0.0.1', protocol: 'http', params: { name: 'two' }, body },
    });
  });
});

test.each(['http', 'https'])(
  'undici reaches a server of node:%s through an agent',
  async (name) => {
    const [, options] = fabrics[0]!;
    const server =
      name === 'http'
        ? http.createServer(echo)
        : https.createServer({ key: TEST_KEY, cert: TEST_CERT }, echo);
    attach(server, options);
    const port = await listen(server);
    const agent = agentOf(options);
    const dispatcher = new Agent({
      connect: ({ hostname: host, port, protocol }, created) =>
        agent.createConnection(
          { host, port: Number(port), protocol, ca: TEST_CERT } as http.ClientRequestArgs,
          (error, socket) => (error ? created(error, null) : created(null, socket as Socket)),
        ),
    });
    onTestFinished(() => dispatcher.destroy());
    const url = `${name}://localhost:${port}`;
    const response = await fetch(url, { dispatcher, method: 'POST', body: 'over the agent' });
    expect([response.headers.get('x-socket'), await response.text()]).toEqual([
      'FabricSocket',
      'over the agent',
    ]);
  },
);

test('undici speaks HTTP/2 over a session that was agreed over TLS', async () => {
  const [, options] = fabrics[0]!;
  const server = http2.createServer();
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
  });
  const tls = { key: TEST_KEY, cert: TEST_CERT, ALPNProtocols: ['h2'] };
  const { port } = await serve({ ...options, tls }, (socket) => server.emit('connection', socket));
  const dispatcher = new Agent({
    allowH2: true,
    connect: ({ hostname, port }, created) => {
      const tls = { ca: TEST_CERT, servername: hostname, ALPNProtocols: ['h2'] };
      const socket = connect({ ...options, host: hostname, port: Number(port), tls });
      socket.once('error', (error) => created(error, null));
      socket.once('connect', () => created(null, asTcp(socket)));
    },
  });
  onTestFinished(() => dispatcher.destroy());
  const body = Buffer.alloc(500_000, 'h2');
  const url = `https://localhost:${port}`;
  const all = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const response = await fetch(url, { dispatcher, method: 'POST', body });
      return Buffer.from(await response.arrayBuffer()).equals(body);
    }),
  );
  expect(all).toEqual(all.map(() => true));
});
