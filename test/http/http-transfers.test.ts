// libfabric/http: engines meet, and exchange tokens, in the headers of HTTP.
import '../support/softefa.js';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import {
  connect as connectHttp2,
  createServer as createServer2,
  type Http2Server,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import express from 'express';
import fastify from 'fastify';
import { type AnyRequest, type AnyResponse, transferClient, transferServer } from 'libfabric/http';
import { TransferEngine } from 'libfabric/transfer';
import { fetch as fetchUndici, request as requestUndici } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { bystander, forged, peersOf } from '../support/forged.js';
import { settle } from '../support/settle.js';
import { warningsFromNow } from '../support/warnings.js';

const BYTES = pattern(100_000);
const options = { provider: 'tcp', node: '127.0.0.1' };

async function openEngine(more = {}): Promise<TransferEngine> {
  const engine = await TransferEngine.open({ ...options, ...more });
  onTestFinished(() => engine.close());
  return engine;
}

async function urlOf(server: Server | Http2Server): Promise<string> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Transfers = ReturnType<typeof transferServer>;

/** Offers the bytes to the client of a request, and reads those that its token offers. */
async function answer(transfers: Transfers, request: AnyRequest, response: AnyResponse) {
  const client = await transfers.clientOf(request, response);
  if (client === undefined) return { status: 200, text: 'plain' };
  const [token] = client.tokens;
  if (token !== undefined) {
    const received = await buffer(client.peer.download(token));
    return { status: 200, text: String(same(received, BYTES)) };
  }
  const outgoing = transfers.engine.outgoing({ to: client.peer });
  client.reply(outgoing);
  outgoing.on('error', () => {});
  outgoing.end(BYTES);
  return { status: 200, text: 'here it is' };
}

type Serve = (engine: TransferEngine) => Promise<{ transfers: Transfers; url: string }>;

const SERVERS: Record<string, Serve> = {
  async 'node:http'(engine) {
    const server = createServer(async (request, response) => {
      try {
        response.end((await answer(transfers, request, response)).text);
      } catch (error) {
        response.writeHead(Object(error).statusCode ?? 500).end();
      }
    });
    const transfers = transferServer(engine, server);
    return { transfers, url: await urlOf(server) };
  },
  async Express(engine) {
    const app = express();
    const transfers = transferServer(engine);
    app.use(transfers.handler);
    app.use(async (request, response) => {
      response.send((await answer(transfers, request, response)).text);
    });
    app.use(((error, _request, response, _next) => {
      response.status(error.statusCode ?? 500).end();
    }) as express.ErrorRequestHandler);
    return { transfers, url: await urlOf(createServer(app)) };
  },
  async Fastify(engine) {
    const app = fastify();
    onTestFinished(() => app.close());
    const transfers = transferServer(engine, app);
    app.get('/', async (request, reply) => (await answer(transfers, request, reply)).text);
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { transfers, url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` };
  },
};

describe.each(Object.keys(SERVERS))('%s', (name) => {
  const serve = SERVERS[name] as Serve;

  test.each(['fetch', 'undici'])(
    '%s gets bytes, and sends bytes, by tokens in headers',
    async (kind) => {
      const [engine, other] = [await openEngine(), await openEngine()];
      const { transfers, url } = await serve(other);
      const client =
        kind === 'fetch'
          ? transferClient(engine)
          : transferClient(engine, fetchUndici as typeof fetch);
      const { response, peer, tokens } = await client.fetch(url, { headers: { accept: '*/*' } });
      expect([await response.text(), tokens.length]).toEqual(['here it is', 1]);
      expect(same(await buffer(peer.download(tokens[0] as string)), BYTES)).toBe(true);
      expect(await client.peer(url)).toBe(peer);
      const outgoing = engine.outgoing({ to: peer });
      outgoing.end(BYTES);
      const sent = await client.fetch(url, { tokens: [outgoing], headers: [['accept', '*/*']] });
      expect(await sent.response.text()).toBe('true');
      expect(transfers.clients).toBe(1);
      await client.close();
      expect(peer.closed).toBe(true);
    },
  );

  test('a client without libfabric gets a plain response', async () => {
    const { transfers, url } = await serve(await openEngine());
    const response = await fetch(url);
    expect([await response.text(), response.headers.get('x-libfabric-address')]).toEqual([
      'plain',
      null,
    ]);
    expect(transfers.clients).toBe(0);
  });

  test('a wrong address, and that of an engine with another secret, give 400', async () => {
    const { transfers, url } = await serve(await openEngine({ secret: 'a'.repeat(32) }));
    const stranger = await openEngine({ secret: 'b'.repeat(32) });
    for (const address of ['x', '', stranger.address]) {
      const { status } = await fetch(url, { headers: { 'x-libfabric-address': address } });
      expect(status).toBe(400);
    }
    expect(transfers.clients).toBe(0);
  });
});

test('a request of undici needs only the headers', async () => {
  const [engine, other] = [await openEngine(), await openEngine()];
  const { url } = await (SERVERS['node:http'] as Serve)(other);
  const client = transferClient(engine);
  const { headers, body } = await requestUndici(url, { headers: client.headers() });
  await body.dump();
  const { peer, tokens } = await client.received(url, headers);
  expect(same(await buffer(peer.download(tokens[0] as string)), BYTES)).toBe(true);
});

test('HTTP/2 works', async () => {
  const [engine, other] = [await openEngine(), await openEngine()];
  const server = createServer2(async (request, response) => {
    response.end((await answer(transfers, request, response)).text);
  });
  const transfers = transferServer(other, server);
  const url = await urlOf(server);
  const session = connectHttp2(url);
  const client = transferClient(engine);
  for (let i = 0; i < 3; i++) {
    const stream = session.request({ ':path': '/', ...client.headers() });
    const [headers] = await once(stream, 'response');
    stream.resume();
    await once(stream, 'close');
    const { peer, tokens } = await client.received(url, headers);
    expect(same(await buffer(peer.download(tokens[0] as string)), BYTES)).toBe(true);
  }
  expect(transfers.clients).toBe(1);
  session.close();
});

test('a client is forgotten some time after its last request, and may come back', async () => {
  const [engine, other] = [await openEngine(), await openEngine()];
  const server = createServer(async (request, response) => {
    peers.push((await transfers.clientOf(request, response))?.peer);
    response.end();
  });
  const peers: unknown[] = [];
  const transfers = transferServer(other, server, { keep: 1 });
  const url = await urlOf(server);
  const headers = transferClient(engine).headers();
  const get = async () => void (await (await fetch(url, { headers })).text());
  await get();
  await expect.poll(() => transfers.clients).toBe(0); // its connection stays
  expect(peers[0]).toMatchObject({ closed: true });
  await get();
  expect(new Set(peers).size).toBe(2);
  await transfers.close();
  expect([transfers.clients, peers.at(-1)]).toMatchObject([0, { closed: true }]);
});

test('a client stays while a request or a transfer is in progress, and leaves when its engine closes', async () => {
  const [engine, second, other] = [await openEngine(), await openEngine(), await openEngine()];
  const waiting: (() => void)[] = [];
  const server = createServer(async (request, response) => {
    await transfers.clientOf(request, response);
    waiting.push(() => response.end());
  });
  const transfers = transferServer(other, server, { maxClients: 1 });
  const url = await urlOf(server);
  const get = (each: TransferEngine) =>
    fetch(url, { headers: transferClient(each).headers() }).then((answer) => answer.status);
  const first = get(engine);
  await expect.poll(() => waiting.length).toBe(1);
  const address = { 'x-libfabric-address': second.address };
  const response = { setHeader: () => {}, once: () => {} };
  const request = { headers: address, socket: { remoteAddress: '127.0.0.1' } };
  await expect(transfers.clientOf(request as never, response as never)).rejects.toMatchObject({
    code: 'FI_EBUSY',
    statusCode: 503,
  });
  expect(transfers.clients).toBe(1);
  const peer = await other.peer(engine.address);
  await engine.peer(other.address);
  const offer = await (await other.allocate(4096)).offer({ access: 'write', to: peer });
  waiting[0]?.();
  expect(await first).toBe(200);
  await expect(transfers.clientOf(request as never, response as never)).rejects.toMatchObject({
    code: 'FI_EBUSY',
  });
  await offer.close();
  await engine.close();
  await expect.poll(() => transfers.clients).toBe(0);
});

test('a connection remembers only the clients that its server remembers', async () => {
  const [engine, evil] = [await openEngine(), await openEngine()];
  const transfers = transferServer(engine, undefined, { maxClients: 2 });
  const socket = Object.assign(new EventEmitter(), { remoteAddress: '127.0.0.1' });
  const response = { setHeader: () => {}, closed: true };
  const doubted: unknown[] = [];
  for (let i = 0; i < 10; i++) {
    const address = forged(evil.address, { id: BigInt(i), maps: false });
    const request = { socket, headers: { 'x-libfabric-address': address } };
    const client = await transfers.clientOf(request as never, response as never);
    vi.spyOn(client?.peer as unknown as { doubt(): void }, 'doubt').mockImplementation(() =>
      doubted.push(i),
    );
  }
  expect(socket.listenerCount('close')).toBe(1);
  socket.emit('close');
  expect(doubted).toEqual([8, 9]);
  await transfers.close();
});

test('a stranger makes a server keep 1024 engines, and connect nowhere', async () => {
  const [engine, evil] = [await openEngine(), await openEngine()];
  const { connections, rail } = await bystander();
  const { transfers, url } = await (SERVERS['node:http'] as Serve)(engine);
  const status = async (address: string, more = {}) => {
    const { body, statusCode } = await requestUndici(url, {
      headers: { 'x-libfabric-address': address, ...more },
    });
    await body.dump();
    return statusCode;
  };
  expect(await status(forged(evil.address, { rails: [rail] }))).toBe(403);
  for (const name of ['x-forwarded-for', 'forwarded', 'via'])
    expect(await status(evil.address, { [name]: '127.0.0.1' })).toBe(403);
  expect([peersOf(engine), connections]).toEqual([[], []]);
  const request = { socket: { remoteAddress: '127.0.0.1' } };
  const response = { setHeader: () => {}, closed: true };
  for (let i = 0; i < 1500; i++) {
    const address = forged(evil.address, { id: BigInt(i), maps: false });
    const headers = { 'x-libfabric-address': address };
    await transfers.clientOf({ ...request, headers } as never, response as never);
  }
  expect(transfers.clients).toBe(1024);
  await transfers.close();
  expect(peersOf(engine)).toEqual([]);
});

test('an engine over shm that can meet no more clients says so: a hint, a warning, and 503', async () => {
  const warnings = warningsFromNow();
  const shm = { provider: 'shm', node: undefined } as object;
  const [engine, other] = [await openEngine(shm), await openEngine(shm)];
  const { transfers } = await (SERVERS['node:http'] as Serve)(engine);
  const request = { socket: { remoteAddress: '127.0.0.1' } };
  const response = { setHeader: () => {}, closed: true };
  const meet = async (i: number) => {
    const rails = [Buffer.from(`fi_shm://4000000:${i}\0`)];
    const address = forged(other.address, { id: BigInt(i), maps: false, rails });
    const headers = { 'x-libfabric-address': address };
    await transfers.clientOf({ ...request, headers } as never, response as never);
  };
  for (let i = 0; i < 256; i++) await meet(i);
  await transfers.close();
  for (const i of [256, 257]) {
    await expect(meet(i)).rejects.toMatchObject({
      code: 'FI_EADDRNOTAVAIL',
      statusCode: 503,
      hint: expect.stringContaining('256 peers'),
    });
  }
  await vi.waitFor(() => expect(warnings.length).toBe(1));
  expect(warnings[0]).toContain('takes no further peer');
});

test('the stream of a client whose process is killed ends when its connection does, whatever the liveness', async () => {
  const engine = await openEngine({ liveness: 600_000 });
  const seen = new EventEmitter();
  const server = createServer(async (request, response) => {
    const client = await transfers.clientOf(request, response);
    if (client === undefined) return;
    const incoming = engine.incoming({ from: client.peer });
    client.reply(incoming);
    response.end();
    incoming.on('data', () => seen.emit('data'));
    incoming.on('error', (error) => seen.emit('ended', error));
  });
  const transfers = transferServer(engine, server);
  const program = fileURLToPath(new URL('../programs/http-uploader.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, await urlOf(server)], { stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await settle(once(seen, 'data'));
  child.kill('SIGKILL');
  expect(await settle(once(seen, 'ended'))).toMatchObject([{ code: 'FI_ECONNRESET' }]);
});

test('a server that was restarted is met again, and one without libfabric is reported', async () => {
  const engine = await openEngine();
  const client = transferClient(engine);
  const answers = [await openEngine(), await openEngine()];
  const server = createServer((_request, response) => {
    const address = answers[0]?.address;
    if (address !== undefined) response.setHeader('x-libfabric-address', address);
    response.end();
  });
  const url = await urlOf(server);
  const first = await client.peer(url);
  expect(first.id).toBe(answers[0]?.id);
  await answers.shift()?.close();
  const { peer: second } = await client.fetch(url);
  expect([second.id, first.closed]).toEqual([answers[0]?.id, true]);
  answers.shift();
  await expect(client.fetch(url)).rejects.toMatchObject({ code: 'FI_ENODATA' });
});

test('wrong arguments are refused', async () => {
  const engine = await openEngine();
  const wrong = (value: unknown) => value as never;
  expect(() => transferServer(wrong({}))).toThrow(TypeError);
  expect(() => transferServer(engine, wrong({}))).toThrow(TypeError);
  expect(() => transferServer(engine, undefined, wrong({ keeps: 1 }))).toThrow('keep');
  expect(() => transferServer(engine, undefined, { keep: -1 })).toThrow(RangeError);
  expect(() => transferServer(engine, undefined, { maxClients: 0 })).toThrow(RangeError);
  expect(() => transferServer(engine, undefined, wrong({ admit: 1 }))).toThrow(TypeError);
  expect(() => transferClient(wrong(1))).toThrow(TypeError);
  expect(() => transferClient(engine, wrong('fetch'))).toThrow(TypeError);
  await engine.close();
  expect(() => transferClient(engine)).toThrow('is closed');
  expect(() => transferServer(engine)).toThrow('is closed');
});
