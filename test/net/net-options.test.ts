// The options of connect() and createServer(): those of node:net are honoured, or refused with the reason.
import { once } from 'node:events';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, createServer, FabricAgent, FabricSocket } from '../../dist/net/index.js';
import { casesOf } from '../support/cases.js';
import { isQuick, libraries, type Socket } from '../support/net-libraries.js';

const fabric = { provider: 'shm' };
const withCode = (code: string, text = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(text) });

/** 'connect', or the code of the error. */
const outcomeOf = (socket: Socket) =>
  new Promise<string>((resolve) => {
    socket.once('connect', () => resolve('connect'));
    socket.on('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? ''));
  });

describe.each(casesOf(libraries, isQuick))('%s', (_name, { createServer, serve, open }) => {
  test('lookup finds the address, and its events reach the socket', async () => {
    const { port } = await serve();
    const lookup = (_host: string, { all }: { all?: boolean }, done: (...a: unknown[]) => void) =>
      setImmediate(() =>
        all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
      );
    const socket = open(port, { host: 'a.name.of.mine', lookup });
    const [, address] = await once(socket, 'lookup');
    expect([address, await outcomeOf(socket)]).toEqual(['127.0.0.1', 'connect']);
  });

  test('each socket to a host with a name emits its address before it connects', async () => {
    const { port } = await serve();
    for (let i = 0; i < 2; i++) {
      const socket = open(port, { host: 'localhost' });
      const events: string[] = [];
      socket.on('lookup', (...args: unknown[]) =>
        events.push(args.slice(0, 1).concat(args[3]).join()),
      );
      socket.on('connect', () => events.push('connect'));
      await once(socket, 'connect');
      expect([...new Set(events)]).toEqual([',localhost', 'connect']);
    }
  });

  test('sockets with different local addresses share no session', async () => {
    const { port } = await serve();
    const addresses = ['127.0.0.1', '127.0.0.5', '127.0.0.6'];
    const sockets = addresses.map((localAddress) => open(port, { localAddress }));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    expect(sockets.map(({ localAddress }) => localAddress)).toEqual(addresses);
  });

  test('path leads to a Unix socket', async () => {
    const path = join(tmpdir(), `libfabric-${process.pid}-${Math.random()}.sock`);
    const server = createServer({}, (socket) => void socket.end());
    server.listen(path);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const socket = open(0, { path, port: undefined, host: undefined });
    expect(await outcomeOf(socket)).toBe('connect');
  });

  test('an address that family excludes is not tried', async () => {
    const { port } = await serve();
    expect(await outcomeOf(open(port, { host: 'localhost', family: 6 }))).not.toBe('connect');
  });
});

test('connect() takes a port, a host and a listener', async () => {
  const server = createServer(fabric, (socket) => void socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = Object(server.address());
  const socket = await new Promise<FabricSocket>((resolve) => {
    const client = connect(port, '127.0.0.1', () => resolve(client));
  });
  expect(socket.remotePort).toBe(port);
  socket.destroy();
  server.close();
});

test.each([
  ['no arguments', [], 'ERR_MISSING_ARGS'],
  ['no place', [{ host: 'localhost' }], 'ERR_MISSING_ARGS'],
  ['a port that is none', [70_000], 'ERR_SOCKET_BAD_PORT'],
  ['a port of another type', [true], 'ERR_INVALID_ARG_TYPE'],
  ['a path of another type', [{ path: {} }], 'ERR_INVALID_ARG_TYPE'],
  ['a local address that is none', [{ port: 1, localAddress: 'x' }], 'ERR_INVALID_IP_ADDRESS'],
  ['lookup that is no function', [{ port: 1, lookup: 1 }], 'ERR_INVALID_ARG_TYPE'],
])('connect() refuses %s', (_kind, args, code) => {
  expect(() => (connect as (...args: unknown[]) => unknown)(...args)).toThrow(withCode(code));
});

test.each([
  ['fd', 3, 'descriptor'],
  ['handle', {}, 'libuv'],
  ['objectMode', true, 'bytes'],
  ['readable', false, 'both sides'],
  ['keepalive', true, "did you mean 'keepAlive'?"],
  ['hosts', 'x', "did you mean 'host'?"],
])('connect() and new FabricSocket() refuse the option %s, and say why', (name, value, why) => {
  const error = withCode('ERR_INVALID_ARG_VALUE', why);
  expect(() => connect({ port: 1, [name]: value })).toThrow(error);
  expect(() => new FabricSocket({ [name]: value })).toThrow(error);
});

test.each([
  ['provder', 'provider'],
  ['nodes', 'node'],
  ['requires', 'require'],
  ['heartBeat', 'heartbeat'],
])('new FabricAgent() refuses the option %s', (name, meant) => {
  expect(() => new FabricAgent({ [name]: 1 })).toThrow(
    withCode('ERR_INVALID_ARG_VALUE', `did you mean '${meant}'?`),
  );
});

test('new FabricAgent() takes the options of agents and of connections', () => {
  const options = { keepAlive: true, maxSockets: 3, timeout: 100, host: 'x', noDelay: true };
  const secure = { ca: 'x', cert: 'x', key: 'x', session: Buffer.alloc(1), servername: 'x' };
  const agent = new FabricAgent({ ...options, ...secure, localAddress: '127.0.0.1', ...fabric });
  expect(agent).toMatchObject({ maxSockets: 3 });
  agent.destroy();
});

test('createServer() refuses other names and values', () => {
  const create = createServer as (options: unknown) => unknown;
  expect(() => create({ pauseOnConect: true })).toThrow(
    withCode('ERR_INVALID_ARG_VALUE', "did you mean 'pauseOnConnect'?"),
  );
  for (const options of ['path', 0, { highWaterMark: 'x' }, { keepAliveInitialDelay: 'x' }])
    expect(() => create(options)).toThrow(withCode('ERR_INVALID_ARG_TYPE'));
});

test('blockList refuses addresses on both sides', async () => {
  const blockList = new BlockList();
  blockList.addAddress('127.0.0.5');
  const server = createServer({ ...fabric, blockList }).listen(0);
  await once(server, 'listening');
  const { port } = Object(server.address());
  const from = (localAddress: string) =>
    connect({ port, host: '127.0.0.1', localAddress, ...fabric }) as unknown as Socket;
  const dropped = once(server, 'drop');
  expect(await outcomeOf(from('127.0.0.5'))).toBe('ECONNRESET');
  expect(await dropped).toMatchObject([{ remoteAddress: expect.stringContaining('127.0.0.5') }]);
  const good = from('127.0.0.1');
  expect(await outcomeOf(good)).toBe('connect');
  good.destroy();
  const to = connect({ port, host: '127.0.0.5', blockList, ...fabric }) as unknown as Socket;
  expect(await outcomeOf(to)).toBe('ERR_IP_BLOCKED');
  server.close();
});

describe('bytes that are transferred before they were accepted', () => {
  const gone = (bytes: Uint8Array<ArrayBuffer>) =>
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });

  test('end the socket of a write with an error, and the peer gets no end', async () => {
    const server = createServer({ ...fabric, pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect({ port: Object(server.address()).port, host: '127.0.0.1', ...fabric });
    const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')]);
    const failed = once(client, 'error');
    const lost = once(peer, 'error');
    const bytes = new Uint8Array(8_000_000);
    client.write(bytes);
    gone(bytes);
    peer.resume();
    expect(await failed).toEqual([withCode('ERR_INVALID_ARG_VALUE', 'transferred')]);
    expect(await lost).toMatchObject([{ code: 'ECONNRESET' }]);
    server.close();
  });

  test('reject their send(), and no other one if no part of them was sent', async () => {
    const server = createServer(fabric).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = Object(server.address());
    const link = connect({ port, host: '127.0.0.1', mode: 'messages', ...fabric });
    const accepted = new Promise<AsyncIterable<Uint8Array>>((resolve) =>
      server.once('messages', resolve),
    );
    const bytes = new Uint8Array(100_000);
    const sent = [link.send('first'), link.send(bytes), link.send('last')];
    gone(bytes);
    const results = await Promise.allSettled(sent);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    link.end();
    const texts = [];
    for await (const message of await accepted) texts.push(Buffer.from(message).toString());
    expect(texts).toEqual(['first', 'last']);
    link.destroy();
    server.close();
  });
});
