// A FabricAgent before a server has agreed to the fabric, and one whose server does not: as an Agent of node:http.
import '../support/softefa.js';
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { attach, FabricAgent, type FabricAgentOptions } from '../../dist/net/index.js';

type Upgrade = (request: http.IncomingMessage, socket: Socket) => void;

/** A server whose listener for 'upgrade' does not know the fabric, and the number of times that it was asked. */
async function serve(upgrade?: Upgrade, listener?: http.RequestListener) {
  const server = http.createServer(
    listener ?? ((request, response) => response.end(`${request.method} ${request.url}`)),
  );
  const asked: string[] = [];
  if (upgrade)
    server.on('upgrade', (request, socket) => {
      asked.push(String(request.headers.upgrade));
      socket.on('error', () => {});
      upgrade(request, socket as Socket);
    });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, asked, port: (server.address() as AddressInfo).port };
}

function agentOf(options: FabricAgentOptions = {}): FabricAgent {
  const agent = new FabricAgent({ provider: 'shm', ...options });
  onTestFinished(() => agent.destroy());
  return agent;
}

async function ask(agent: http.Agent, port: number, path = '/'): Promise<string> {
  const request = http.get({ agent, port, host: '127.0.0.1', path });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return Buffer.concat(await response.toArray()).toString();
}

const held: Socket[] = [];
const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: libfabric\r\n\r\n';

/** What a server may do with an upgrade that it does not know. */
const strangers: Record<string, Upgrade> = {
  'destroys the connection': (_request, socket) => socket.destroy(),
  'resets the connection': (_request, socket) => socket.resetAndDestroy(),
  'ignores the request': (_request, socket) => void held.push(socket),
  'answers 400': (_request, socket) =>
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'),
  'answers no HTTP': (_request, socket) => socket.end('hello\r\n\r\n'),
  'agrees and is silent': (_request, socket) => {
    socket.write(SWITCH);
    held.push(socket);
  },
  'agrees and ends': (_request, socket) => socket.end(SWITCH),
  'agrees and says something else': (_request, socket) => socket.write(`${SWITCH}hello\n`),
};

describe.each(Object.keys(strangers))('a server that %s', (name) => {
  test('is asked once, and gets the requests over TCP', async () => {
    const { asked, port } = await serve(strangers[name]);
    onTestFinished(() => {
      for (const socket of held.splice(0)) socket.destroy();
    });
    const agent = agentOf({ connectTimeout: 200 });
    const first = await Promise.all([ask(agent, port, '/1'), ask(agent, port, '/2')]);
    expect([...first, await ask(agent, port, '/3')]).toEqual(['GET /1', 'GET /2', 'GET /3']);
    expect(asked).toEqual(['libfabric']);
    const required = agentOf({ connectTimeout: 200, require: 'fabric' });
    await expect(ask(required, port)).rejects.toHaveProperty('code');
  });
});

const codeOf = (request: http.ClientRequest) =>
  new Promise<unknown>((resolve) => {
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.name));
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
  });

/** Ends of a request, each right after it was made. */
const ends: Record<string, (options: http.RequestOptions) => http.ClientRequest> = {
  timeout: (options) => {
    const request = http.get({ ...options, timeout: 20 });
    return request.on('timeout', () =>
      request.destroy(Object.assign(new Error(), { code: 'OWN' })),
    );
  },
  'setTimeout()': (options) => {
    const request = http.get(options);
    request.setTimeout(20, () => request.destroy(Object.assign(new Error(), { code: 'OWN' })));
    return request;
  },
  'a signal': (options) => http.get({ ...options, signal: AbortSignal.timeout(20) }),
  'destroy()': (options) => {
    const request = http.get(options);
    setImmediate(() => request.destroy());
    return request;
  },
};

describe.each(Object.keys(ends))('%s of a request', (name) => {
  test('ends it while the server does not answer, as without the fabric', async () => {
    const { port } = await serve(
      (_request, socket) => void held.push(socket),
      () => {},
    );
    onTestFinished(() => {
      for (const socket of held.splice(0)) socket.destroy();
    });
    const start = ends[name] as (typeof ends)[string];
    // The server answers neither the agent nor the request.
    const results = [new http.Agent(), agentOf()].map(async (agent) => {
      const request = start({ agent, port, host: '127.0.0.1' });
      const closed = once(request, 'close').catch(() => {});
      const code = await codeOf(request);
      await closed;
      return code;
    });
    const [expected, found] = await Promise.all(results);
    // Without the fabric, a signal or a timer may come before the connection or after it.
    expect(found).toBe(expected);
  });
});

test('createConnection() takes a port and a listener, as that of an Agent does', async () => {
  const { port, server } = await serve();
  const agent = agentOf() as unknown as { createConnection(...args: unknown[]): Socket };
  const connected = once(server, 'connection');
  const socket = await new Promise<Socket>((resolve) => {
    const made = agent.createConnection(port, () => resolve(made));
  });
  onTestFinished(() => void socket.destroy());
  await connected;
});

test('maxSockets holds from the first requests on', async () => {
  let now = 0;
  let most = 0;
  const { port, server } = await serve(undefined, (_request, response) => {
    now += 1;
    most = Math.max(most, now);
    setImmediate(() => {
      now -= 1;
      response.end();
    });
  });
  attach(server, { provider: 'shm' });
  const agent = agentOf({ maxSockets: 2, keepAlive: true });
  const asking = Array.from({ length: 10 }, () => ask(agent, port));
  expect(Object.values(agent.sockets).flat()).toHaveLength(2);
  await Promise.all(asking);
  expect(most).toBeLessThanOrEqual(2);
  expect(Object.values(agent.freeSockets).flat().length).toBeLessThanOrEqual(2);
});

test('an agent that was destroyed serves requests, and leaves no session', async () => {
  const { port, server } = await serve();
  attach(server, { provider: 'shm' });
  const agent = agentOf({ keepAlive: true });
  await ask(agent, port);
  agent.destroy();
  expect(await ask(agent, port)).toBe('GET /');
  const free = Object.values(agent.freeSockets).flat();
  for (const socket of free as Socket[]) socket.destroy();
  // Without a session, the server has no connection.
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

test('destroy() of an agent for which many requests wait warns of nothing', async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error) => warnings.push(warning);
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  const { port, server } = await serve(undefined, (_request, response) => response.end());
  attach(server, { provider: 'shm' });
  const agent = agentOf({ keepAlive: true });
  const asking = Array.from({ length: 30 }, () => ask(agent, port).catch(({ code }) => code));
  setImmediate(() => agent.destroy());
  expect(new Set(await Promise.all(asking))).toEqual(new Set(['ECONNRESET']));
  await new Promise(setImmediate);
  expect(warnings.filter(({ name }) => name.startsWith('MaxListeners'))).toEqual([]);
});

test('a request to a port at which nobody listens fails as without the fabric', async () => {
  const { port, server } = await serve();
  server.close();
  await once(server, 'close');
  const failure = (agent: http.Agent) =>
    ask(agent, port).catch((error) => ({ ...error, message: error.message }));
  expect(await failure(agentOf())).toEqual(await failure(new http.Agent()));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  attach(server, { provider: 'shm' });
  const agent = agentOf();
  const request = http.get({ agent, port, host: '127.0.0.1' });
  await once(request, 'response');
  expect(request.socket?.constructor.name).toBe('FabricSocket');
});
