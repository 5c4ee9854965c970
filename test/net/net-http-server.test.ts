// The methods of an HTTP server with attach(): they see the sockets of the fabric as those of TCP.
import '../support/softefa.js';
import { once } from 'node:events';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import type * as tcp from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type AttachOptions, attach, createServer, FabricAgent } from '../../dist/net/index.js';
import { TEST_CERT, TEST_KEY } from '../support/certificate.js';
import { closed, stranger } from '../support/strangers.js';

const OPTIONS: AttachOptions = { provider: 'shm' };
const ASK = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: libfabric\r\n\r\n';

const kindOf = (request: http.IncomingMessage) => request.socket.constructor.name;

async function listen(server: tcp.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as tcp.AddressInfo).port;
}

/** An attached server, whose answers name the kind of the socket. */
async function serve(options: AttachOptions = OPTIONS, ofServer: http.ServerOptions = {}) {
  const server = http.createServer(ofServer, (request, response) => response.end(kindOf(request)));
  const attachment = attach(server, options);
  const port = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  return { server, attachment, port };
}

function agentOf(options: http.AgentOptions = { keepAlive: true }): FabricAgent {
  const agent = new FabricAgent({ ...OPTIONS, ...options });
  onTestFinished(() => agent.destroy());
  return agent;
}

async function ask(agent: http.Agent | undefined, port: number, path = '/'): Promise<string> {
  const request = http.get({ ...(agent && { agent }), port, host: '127.0.0.1', path });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return Buffer.concat(await response.toArray()).toString();
}

const close = (server: tcp.Server) => new Promise((resolve) => server.close(resolve));
const countOf = (server: tcp.Server) =>
  new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));

test.each([
  ['with a free socket', { keepAlive: true }],
  ['without a socket', { keepAlive: false }],
])('close() calls back while an idle agent %s lives', async (_name, options) => {
  const { server, port } = await serve();
  const agent = agentOf(options);
  expect(await ask(agent, port)).toBe('FabricSocket');
  expect(await close(server)).toBe(undefined);
  await expect(ask(agent, port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('close() waits for a request, and closeAllConnections() ends it', async () => {
  const server = http.createServer((_request, response) => response.flushHeaders());
  attach(server, OPTIONS);
  const port = await listen(server);
  const request = http.get({ agent: agentOf(), port, host: '127.0.0.1' });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let hasClosed = false;
  const closing = close(server).then(() => {
    hasClosed = true;
  });
  expect(await countOf(server)).toBe(1);
  expect(hasClosed).toBe(false);
  const failed = once(response, 'error');
  server.closeAllConnections();
  expect(await failed).toMatchObject([{ code: 'ECONNRESET' }]);
  await closing;
});

test('closeIdleConnections() ends a free socket of an agent, and the next request has another one', async () => {
  const { server, port } = await serve();
  const agent = agentOf();
  await ask(agent, port);
  const [free] = Object.values(agent.freeSockets).flat() as tcp.Socket[];
  server.closeIdleConnections();
  await closed(free as tcp.Socket);
  expect(await ask(agent, port)).toBe('FabricSocket');
});

test('a server that has closed may listen again', async () => {
  const { server, port } = await serve();
  const agent = agentOf();
  await ask(agent, port);
  await close(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  expect(await ask(agent, port)).toBe('FabricSocket');
});

test('getConnections() and maxConnections count the sockets of the fabric', async () => {
  const { server, port } = await serve();
  const agent = agentOf();
  expect(await countOf(server)).toBe(0);
  await ask(agent, port);
  expect(await countOf(server)).toBe(1);
  server.maxConnections = 1;
  const dropped: unknown[] = [];
  server.on('drop', ({ localPort }) => dropped.push(localPort));
  await expect(ask(undefined, port)).rejects.toHaveProperty('code', 'ECONNRESET');
  await expect(
    Promise.all([ask(agent, port), ask(agent, port)]), // the second one needs another socket
  ).rejects.toHaveProperty('code', 'ECONNRESET');
  expect(dropped).toEqual([port, port]);
  server.maxConnections = 2;
  expect(await ask(agent, port)).toBe('FabricSocket');
});

test('close() of the attachment ends sessions without sockets, and later requests travel over TCP', async () => {
  const { server, attachment, port } = await serve();
  const agent = agentOf({ keepAlive: false });
  expect(await ask(agent, port)).toBe('FabricSocket');
  const names = ['emit', 'close', 'listenerCount', 'getConnections'];
  const own = () => names.filter((name) => Object.hasOwn(server, name));
  expect(own()).toEqual(names);
  expect(() => attach(server)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_STATE' }));
  attachment[Symbol.dispose]();
  expect(own()).toEqual([]);
  while ((await countOf(server)) > 0) await new Promise(setImmediate);
  expect(await ask(agent, port)).toBe('Socket');
  const again = attach(server, OPTIONS);
  expect(await ask(agentOf(), port)).toBe('FabricSocket');
  again.close();
});

test('256 agreements are in progress at the same time; further requests are answered without one', async () => {
  const { server, port } = await serve({ agreementTimeout: 60_000 }); // without a fabric: it is faster
  const asking = await Promise.all(
    Array.from({ length: 256 }, () => stranger(port, Buffer.from(ASK))),
  );
  await Promise.all(
    asking.map(async (socket) => expect(String(await once(socket, 'data'))).toContain(' 101 ')),
  );
  expect(await ask(agentOf({}), port)).toBe('Socket');
  for (const socket of asking) socket.resetAndDestroy();
  while ((await countOf(server)) > 0) await new Promise(setImmediate);
  expect(await ask(agentOf({}), port)).toBe('FabricSocket');
});

test('maxSessions and agreementTimeout hold', async () => {
  const { port } = await serve({ ...OPTIONS, maxSessions: 1, agreementTimeout: 50 });
  const silent = await stranger(port, Buffer.from(ASK));
  await closed(silent);
  expect(await ask(agentOf(), port)).toBe('FabricSocket');
  expect(await ask(agentOf(), port)).toBe('Socket');
});

test('a server of node:http2 with allowHTTP1 answers agents over the fabric, and its own clients', async () => {
  const server = http2.createSecureServer(
    { key: TEST_KEY, cert: TEST_CERT, allowHTTP1: true },
    (request, response) => response.end(`${request.httpVersion} ${kindOf(request as never)}`),
  );
  attach(server as never, OPTIONS);
  const port = await listen(server);
  const { get } = await import('node:https');
  const agent = agentOf({ keepAlive: false });
  const request = get({ agent: agent as never, port, host: 'localhost', ca: TEST_CERT });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  expect(Buffer.concat(await response.toArray()).toString()).toBe('1.1 FabricSocket');
  const client = http2.connect(`https://localhost:${port}`, { ca: TEST_CERT });
  onTestFinished(() => client.destroy());
  expect(String(Buffer.concat(await client.request().toArray()))).toContain('2.0');
  client.close();
});

test('requests of the fabric have the class that the server was given', async () => {
  class Incoming extends http.IncomingMessage {}
  const server = http.createServer({ IncomingMessage: Incoming }, (request, response) =>
    response.end(`${request instanceof Incoming} ${kindOf(request)}`),
  );
  attach(server, OPTIONS);
  expect(await ask(agentOf({ keepAlive: false }), await listen(server))).toBe('true FabricSocket');
});

test('what is no server of node:http is refused, and the error names what is', () => {
  const fastify = { server: http.createServer(), listen() {} };
  for (const wrong of [undefined, null, 1, 'x', {}, [], () => {}, fastify])
    expect(() => attach(wrong as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }),
    );
  expect(() => attach(fastify as never)).toThrow(/member `server`/);
});

// From here on: clients that leave at any moment.

/** What a client sends before it resets its connection. */
const leaving: Record<string, string> = {
  nothing: '',
  'a part of a request': 'GET / HTTP',
  'a request': 'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  'an upgrade to something else': ASK.replace('libfabric', 'h2c'),
  'an upgrade': ASK,
  'an upgrade behind a request': `GET / HTTP/1.1\r\nHost: x\r\n\r\n${ASK}`,
  'an upgrade and a part of a hello': `${ASK}libfabric-net 1 {`,
  'an upgrade and no hello': `${ASK}hello\n`,
};

test.each(Object.keys(leaving))(
  'a client that resets after %s does not end the server',
  async (name) => {
    const { port, server } = await serve();
    const sockets = createServer(OPTIONS).listen(0, '127.0.0.1');
    await once(sockets, 'listening');
    onTestFinished(() => void sockets.close());
    const ports = [port, (sockets.address() as tcp.AddressInfo).port];
    for (const each of ports) {
      const text = Buffer.from(leaving[name] as string);
      const clients = await Promise.all(Array.from({ length: 4 }, () => stranger(each, text)));
      // In the same turn, one turn later, and after what the server has answered.
      clients[0]?.resetAndDestroy();
      setImmediate(() => clients[1]?.resetAndDestroy());
      clients[2]?.once('data', () => clients[2]?.resetAndDestroy());
      clients[3]?.end();
    }
    expect(await ask(agentOf(), port)).toBe('FabricSocket');
    server.closeAllConnections();
  },
);
