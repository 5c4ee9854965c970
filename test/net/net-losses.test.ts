// What libfabric/net does when a peer, a connection, a thread or the fabric is lost.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import * as http from 'node:http';
import * as tcp from 'node:net';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { dumpState } from 'libfabric';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { attach, connect, FabricAgent, type FabricSocket } from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { casesOf, slow } from '../support/cases.js';
import { TEST_CERT, TEST_KEY } from '../support/certificate.js';
import { runProgram } from '../support/lifecycle.js';
import { HOST, pair, serve } from '../support/net-pair.js';
import { testFaults, withSoftefa } from '../support/softefa.js';
import { closed, crowd } from '../support/strangers.js';

const faults = testFaults();
const program = (name: string) =>
  fileURLToPath(new URL(`../programs/${name}.mjs`, import.meta.url));

/** Everything that a socket reads until the end. */
async function bytesOf(socket: FabricSocket): Promise<Buffer> {
  return Buffer.concat(await socket.toArray());
}

const quickly = { heartbeat: { interval: 50, limit: 400 } };

test('a stream goes on over TCP if its only NIC loses everything', async () => {
  const [client, peer] = await pair({ provider: 'efa', ...quickly });
  const bytes = pattern(3_000_000);
  const fallbacks = [client, peer].map((socket) => once(socket, 'fallback'));
  const read = bytesOf(peer);
  client.write(bytes.subarray(0, 1_000_000));
  faults.set({ drop: 1000 });
  client.end(bytes.subarray(1_000_000));
  expect((await read).equals(bytes)).toBe(true);
  await Promise.all(fallbacks);
  expect(client.path).toBe('control');
});

test("with require: 'fabric' it fails instead", async () => {
  const sockets = await pair({ provider: 'efa', require: 'fabric', ...quickly });
  const failed = Promise.all(sockets.map((socket) => once(socket, 'error')));
  faults.set({ drop: 1000 });
  sockets[0].write('lost');
  const codes = (await failed).map(([{ code }]) => code);
  // The side that learns of it first ends the control connection.
  expect(codes.some((code) => /^(FI_ETIMEDOUT|FI_EIO)$/.test(code))).toBe(true);
});

describe.each(casesOf(['shm', 'efa'], (provider) => provider === 'efa'))('%s', (provider) => {
  test('sockets of living peers do not end with their control connection', async () => {
    const [client, peer, connections] = await pairThroughProxy({ provider, require: 'fabric' });
    for (const each of connections) each.resetAndDestroy();
    const controls = () => dumpState().netSessions.map(({ control }) => control);
    await vi.waitUntil(() => controls().join() === 'lost,lost', { timeout: 20_000 });
    const bytes = pattern(300_000);
    peer.pipe(peer);
    client.end(bytes);
    expect((await bytesOf(client)).equals(bytes)).toBe(true);
  });

  test('a session whose control connection is cut ends when its server closes', async () => {
    const [client, peer, connections, server] = await pairThroughProxy({ provider });
    for (const each of connections) each.resetAndDestroy();
    await Promise.all([client, peer].map((socket) => once(socket.resume().end(), 'close')));
    server.close();
    await vi.waitUntil(() => dumpState().netSessions.length === 0, { timeout: 20_000 });
  });

  test('a peer that is killed is ECONNRESET before its NICs count as lost', async () => {
    const [server, port] = await serve({ provider });
    const args = [JSON.stringify({ provider }), String(port), 'stays'];
    const child = fork(program('net-client'), args, {
      execArgv: [],
      env: { ...process.env, ...withSoftefa() },
    });
    const [socket] = await once(server, 'connection');
    await once(socket.resume(), 'data');
    const failed = once(socket, 'error');
    child.kill('SIGKILL');
    expect((await failed)[0].code).toBe('ECONNRESET');
  });

  async function pairThroughProxy(options: object) {
    const [server, port] = await serve({ ...options, allowHalfOpen: true });
    const cut = tcp.createServer((near) => {
      const far = tcp.connect(port, '127.0.0.1');
      near.pipe(far).pipe(near);
      for (const each of [near, far]) each.on('error', () => {});
      connections.push(near, far);
    });
    const connections: tcp.Socket[] = [];
    await once(cut.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void cut.close());
    const through = (cut.address() as tcp.AddressInfo).port;
    const client = connect({ port: through, host: '127.0.0.1', ...options, allowHalfOpen: true });
    const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')]);
    return [client, peer as FabricSocket, connections, server] as const;
  }

  test('a worker that is terminated is ECONNRESET, and its thread leaves nothing', async () => {
    const [server, port] = await serve({ provider });
    const accepted = once(server, 'connection');
    const worker = new Worker(
      `const { connect } = require(${JSON.stringify(fileURLToPath(new URL('../../dist/net/index.js', import.meta.url)))});
       const socket = connect({ port: ${port}, host: '127.0.0.1', provider: '${provider}' });
       const write = () => socket.write(Buffer.alloc(100_000), write);
       write();`,
      { eval: true },
    );
    const [peer] = await accepted;
    await once(peer, 'data');
    const failed = once(peer, 'error');
    await worker.terminate();
    expect((await failed)[0].code).toBe('ECONNRESET');
  });

  test('several peers that come and go leave no session', async () => {
    const [server, port] = await serve({ provider });
    server.on('connection', (socket: FabricSocket) => socket.on('error', () => {}).resume());
    const rounds = slow ? 110 : 3; // an endpoint takes 100 peers of its host
    for (let i = 0; i < rounds; i++) {
      const args = [JSON.stringify({ provider }), String(port), 'exits'];
      const child = fork(program('net-client'), args, {
        execArgv: [],
        env: { ...process.env, ...withSoftefa() },
      });
      const [accepted] = await once(server, 'connection');
      expect(accepted.path).toBe(provider);
      await once(accepted, 'end');
      accepted.end();
      expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
    }
    await vi.waitUntil(() => dumpState().netSessions.length === 0, { timeout: 20_000 });
  });
});

test.for(['shm', 'efa'])(
  '%s: a peer that is stopped for 10 seconds loses nothing',
  async (provider, context) => {
    context.skip(!slow, 'it waits for 10 seconds: npm run suite -- slow');
    const [server, port] = await serve({ provider });
    const args = [JSON.stringify({ provider }), String(port), 'exits'];
    const child = fork(program('net-client'), args, {
      execArgv: [],
      env: { ...process.env, ...withSoftefa() },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [socket] = await once(server, 'connection');
    child.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    child.kill('SIGCONT');
    expect((await bytesOf(socket)).equals(Buffer.alloc(3_000_000, 'last'))).toBe(true);
  },
);

test('a proxy that knows no upgrades leaves the client on TCP', async () => {
  const server = http.createServer((request, response) => {
    response.end(request.socket.constructor.name);
  });
  attach(server, { provider: 'shm' });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as tcp.AddressInfo;
  const proxy = http.createServer((request, response) => {
    const { upgrade: _upgrade, connection: _connection, ...headers } = request.headers;
    http
      .request({ port, host: '127.0.0.1', path: request.url, method: request.method, headers })
      .on('response', (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 500)))
      .end();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const each of [server, proxy]) {
      each.closeAllConnections();
      each.close();
    }
  });
  const warned = once(process, 'warning');
  const agent = new FabricAgent({ provider: 'shm' });
  onTestFinished(() => agent.destroy());
  const asked = http.get({
    agent,
    port: (proxy.address() as tcp.AddressInfo).port,
    host: '127.0.0.1',
  });
  const [response] = await once(asked, 'response');
  expect(Buffer.concat(await response.toArray()).toString()).toBe('Socket');
  expect((await warned)[0].code).toBe('LIBFABRIC_NET_FALLBACK');
});

test('a session over TLS has the certificate of the peer', async () => {
  const tls = { key: TEST_KEY, cert: TEST_CERT, ca: TEST_CERT };
  const [client, peer] = await pair(
    { provider: 'shm', tls: { ...tls, requestCert: true } },
    { provider: 'shm', tls: { ...tls, servername: 'localhost' } },
  );
  for (const socket of [client, peer]) {
    expect([socket.encrypted, socket.authorized]).toEqual([true, true]);
    expect(socket.getPeerCertificate()).toMatchObject({ subject: { CN: 'localhost' } });
  }
});

test('sockets over TLS that come and go leave no session', async () => {
  const tls = { key: TEST_KEY, cert: TEST_CERT };
  const [server, port] = await serve({ tls, maxSessions: 1 });
  server.on('connection', (socket) => void socket.resume());
  const options = { port, host: HOST, tls: { ca: TEST_CERT, servername: 'localhost' } };
  for (let i = 0; i < 3; i++) {
    const socket = connect(options);
    await once(socket, 'connect');
    socket.destroy();
    const early = connect(options); // refused, or destroyed before it has connected
    early.on('error', () => {}).destroy();
    while (dumpState().netSessions.length > 0) await new Promise(setImmediate);
  }
});

test('a server takes no more sessions than maxSessions, and says so', async () => {
  const [server, port] = await serve({ maxSessions: 1 });
  const dropped = once(server, 'drop');
  const first = connect({ port, host: '127.0.0.1' });
  onTestFinished(() => void first.destroy());
  await once(first, 'connect');
  const second = connect({ port, host: '127.0.0.1', nics: 2 }); // another session
  expect((await once(second, 'error'))[0].code).toBe('ECONNRESET');
  expect(await dropped).toMatchObject([{ remoteAddress: HOST }]);
});

test('a session of connect() without sockets ends after a minute', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const [, port] = await serve({ provider: 'shm' });
  const open = () => connect({ port, host: HOST, provider: 'shm' });
  for (let i = 0; i < 2; i++) {
    const socket = open();
    await once(socket, 'connect');
    const closing = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await closing;
  }
  vi.advanceTimersByTime(59_000);
  const last = open(); // begins another minute
  await once(last, 'connect');
  vi.advanceTimersByTime(120_000);
  expect(dumpState().netSessions.length).toBe(2); // one on each side
  last.destroy();
  while (dumpState().netSessions.length > 0) {
    vi.advanceTimersByTime(1000);
    await new Promise(setImmediate);
  }
});

test('connections that say nothing do not keep clients out: the oldest ones are closed', async () => {
  const [, port] = await serve({ agreementTimeout: 60_000 });
  const silent = await crowd(port, 260);
  const first = closed(silent[0] as tcp.Socket);
  const client = connect({ port, host: HOST });
  await once(client, 'connect');
  await first;
  client.destroy();
  for (const each of silent) each.destroy();
});

test.each([
  ['heartbeat.interval', { interval: 0 }],
  ['heartbeat.limit', { limit: 1.5 }],
])('a wrong %s is an error of the call', (_name, heartbeat) => {
  const options = { port: 1, host: '127.0.0.1', provider: 'shm', heartbeat };
  const refused = expect.objectContaining({ code: 'ERR_OUT_OF_RANGE' });
  expect(() => connect(options)).toThrow(refused);
});

test.each(casesOf(['shm', 'efa'], (provider) => provider === 'shm'))(
  '%s: long bytes of a session are its own, whatever sessions were before it',
  async (provider) => {
    const outcome = await runProgram('net-sessions', [provider], {
      node: ['--expose-gc'],
      env: withSoftefa(),
    });
    expect(outcome, JSON.stringify(outcome)).toMatchObject({ code: 0, stdout: '60 of 60\n' });
  },
);
