// Sockets of libfabric/net behave as those of node:net. Each test runs over both.
import '../support/softefa.js';
import { once } from 'node:events';
import * as tcp from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as fabric from '../../dist/net/index.js';

type Socket = tcp.Socket;
interface Library {
  createServer(options: object, listener?: (socket: Socket) => void): tcp.Server;
  connect(options: tcp.NetConnectOpts, listener?: () => void): Socket;
}

const over = (options: object): Library => ({
  createServer: (more, listener) =>
    fabric.createServer({ ...options, ...more }, listener as never) as unknown as tcp.Server,
  connect: (more, listener) =>
    fabric.connect({ ...options, ...more } as never, listener) as unknown as Socket,
});

const libraries: [string, Library][] = [
  ['libfabric/net over shm', over({ provider: 'shm' })],
  ['libfabric/net over shm, loop driver', over({ provider: 'shm', driver: 'loop' })],
  ['libfabric/net over efa', over({ provider: 'efa' })],
  ['libfabric/net over tcp', over({ provider: 'tcp', node: '127.0.0.1' })],
  ['libfabric/net without a fabric', over({})],
  ['node:net', tcp as unknown as Library],
];

describe.each(libraries)('%s', (_name, { createServer, connect }) => {
  /** A server that listens, and its port. */
  async function serve(options: object = {}, listener?: (socket: Socket) => void) {
    const sockets = new Set<Socket>();
    const server = createServer(options, (socket) => {
      sockets.add(socket);
      listener?.(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      await new Promise((resolve) => server.close(resolve));
    });
    return { server, port: (server.address() as tcp.AddressInfo).port };
  }

  /** A connected socket, and that of the server. */
  async function pair(options: object = {}): Promise<[Socket, Socket]> {
    const { server, port } = await serve(options);
    const accepted = once(server, 'connection');
    const client = connect({ port, host: '127.0.0.1', ...options });
    onTestFinished(() => void client.destroy());
    await once(client, 'connect');
    const [peer] = await accepted;
    for (const socket of [client, peer]) socket.on('error', () => {});
    return [client, peer];
  }

  /** Everything until the end of the peer's side. The socket stays open. */
  function textOf(socket: Socket): Promise<string> {
    const read: Buffer[] = [];
    socket.on('data', (bytes) => read.push(bytes));
    return new Promise((resolve) =>
      socket.once('end', () => resolve(Buffer.concat(read).toString())),
    );
  }

  const closeOf = (socket: Socket) =>
    new Promise<boolean>((resolve) => socket.once('close', resolve));

  test('bytes arrive in both directions, and end() ends one side', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    client.end('ping');
    expect(await textOf(peer)).toBe('ping');
    expect(peer.writable).toBe(true);
    peer.end('pong');
    expect(await textOf(client)).toBe('pong');
    await Promise.all([client, peer].map((socket) => socket.closed || once(socket, 'close')));
  });

  test('without allowHalfOpen, the end of one side ends the other', async () => {
    const [client, peer] = await pair();
    const closed = Promise.all([once(client, 'close'), once(peer, 'close')]);
    client.resume();
    peer.resume();
    client.end();
    expect(await closed).toEqual([[false], [false]]);
  });

  test('the states of a socket', async () => {
    const { port } = await serve();
    const client = connect({ port, host: '127.0.0.1' });
    expect([client.connecting, client.pending, client.readyState]).toEqual([true, true, 'opening']);
    await once(client, 'ready');
    expect([client.connecting, client.pending, client.readyState]).toEqual([false, false, 'open']);
    client.end();
    await once(client, 'finish');
    expect(client.readyState).toBe('readOnly');
    client.destroy();
    await once(client, 'close');
    expect([client.destroyed, client.pending, client.readyState]).toEqual([true, true, 'closed']);
  });

  test('what is written while it connects arrives after it has connected', async () => {
    const { server, port } = await serve();
    const accepted = once(server, 'connection');
    const client = connect({ port, host: '127.0.0.1' });
    client.write('a');
    client.write('b', () => expect(client.connecting).toBe(false));
    client.end('c');
    const [peer] = await accepted;
    expect(await textOf(peer)).toBe('abc');
  });

  test('a connection that is refused emits one error and closes', async () => {
    const { server, port } = await serve();
    server.close();
    await once(server, 'close');
    const client = connect({ port, host: '127.0.0.1' });
    const errors: unknown[] = [];
    client.on('error', (error) => errors.push(error));
    expect(await new Promise((resolve) => client.once('close', resolve))).toBe(true);
    expect(errors).toMatchObject([{ code: 'ECONNREFUSED' }]);
  });

  test('destroy() while it connects emits neither connect nor an error', async () => {
    const { port } = await serve();
    const client = connect({ port, host: '127.0.0.1' });
    const events: string[] = [];
    for (const event of ['connect', 'ready', 'error', 'end'])
      client.on(event, () => events.push(event));
    client.destroy();
    await once(client, 'close');
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual([]);
  });

  test('a write that waits for the connection fails if the socket is destroyed', async () => {
    const { port } = await serve();
    const client = connect({ port, host: '127.0.0.1' });
    const failed = new Promise((resolve) => client.write('x', resolve));
    client.destroy();
    expect(await failed).toMatchObject({ code: 'ERR_SOCKET_CLOSED_BEFORE_CONNECTION' });
  });

  test('destroy() without unread bytes is an end at the peer', async () => {
    const [client, peer] = await pair();
    const errors: unknown[] = [];
    peer.on('error', (error) => errors.push(error));
    client.write('last words');
    client.destroySoon();
    expect(await textOf(peer)).toBe('last words');
    expect(errors).toEqual([]);
  });

  test('resetAndDestroy() is ECONNRESET at the peer', async () => {
    const [client, peer] = await pair();
    peer.resume();
    const failed = once(peer, 'error');
    const closed = closeOf(client);
    client.resetAndDestroy();
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }]);
    expect(await closed).toBe(false);
  });

  test('a write to a peer that is gone fails', async () => {
    const [client, peer] = await pair();
    client.destroy();
    peer.resume();
    const failed = new Promise((resolve) => peer.once('error', resolve));
    const timer = setInterval(() => peer.write('x'), 1);
    onTestFinished(() => clearInterval(timer));
    peer.on('end', () => peer.write('x'));
    const error = await Promise.race([failed, once(peer, 'close')]);
    expect(JSON.stringify(error)).toMatch(/ECONNRESET|EPIPE|false|true|ERR_STREAM_WRITE_AFTER_END/);
  });

  test('destroy(error) emits the error once, then close with true', async () => {
    const [client] = await pair();
    const events: unknown[] = [];
    client.on('error', (error) => events.push(error.message));
    client.on('close', (hadError) => events.push(hadError));
    const closed = closeOf(client);
    client.destroy(new Error('mine'));
    client.destroy(new Error('another'));
    await closed;
    expect(events).toEqual(['mine', true]);
  });

  test('write() after end() fails with ERR_STREAM_WRITE_AFTER_END, after destroy() with ERR_STREAM_DESTROYED', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    client.end();
    const code = (socket: Socket) =>
      new Promise((resolve) =>
        socket.write('x', (error) => resolve((error as { code?: string }).code)),
      );
    expect(await code(client)).toMatch(/ERR_STREAM_WRITE_AFTER_END|EPIPE/);
    peer.destroy();
    expect(await code(peer)).toBe('ERR_STREAM_DESTROYED');
  });

  test('a paused reader stops its writer, and gets every byte later', async () => {
    const [client, peer] = await pair();
    peer.pause();
    const size = 16 << 20;
    const chunk = Buffer.alloc(64 << 10, 7);
    let written = 0;
    while (client.write(chunk)) written += chunk.length;
    while (written < size) {
      client.write(chunk);
      written += chunk.length;
    }
    client.end();
    const stopped = client.writableLength;
    expect(stopped).toBeGreaterThan(1 << 20);
    let read = 0;
    for await (const bytes of peer) read += bytes.length;
    expect(read).toBe(client.bytesWritten);
    expect(peer.bytesRead).toBe(read);
  });

  test('counts its bytes, also after it has closed', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    client.write(Buffer.alloc(1000));
    client.write('äöü');
    client.end();
    await textOf(peer);
    peer.end('12345');
    await Promise.all([textOf(client), closeOf(client)]);
    expect([client.bytesWritten, client.bytesRead, peer.bytesRead]).toEqual([1006, 5, 1006]);
  });

  test('has the addresses of both sides, also after it has closed', async () => {
    const [client, peer] = await pair();
    const of = ({ remoteAddress, remotePort, remoteFamily, localAddress, localPort }: Socket) => {
      return { remoteAddress, remotePort, remoteFamily, localAddress, localPort };
    };
    const before = of(client);
    expect(before).toMatchObject({
      remoteAddress: '127.0.0.1',
      remoteFamily: 'IPv4',
      remotePort: peer.localPort,
    });
    expect(client.address()).toEqual({
      address: '127.0.0.1',
      family: 'IPv4',
      port: client.localPort,
    });
    expect(peer.remotePort).toBe(client.localPort);
  });

  test("setTimeout() emits 'timeout' without activity, and 0 disables it", async () => {
    const [client, peer] = await pair();
    let timeouts = 0;
    client.setTimeout(20, () => (timeouts += 1));
    expect(client.timeout).toBe(20);
    await once(client, 'timeout');
    expect(timeouts).toBe(1);
    client.setTimeout(0);
    expect(client.timeout).toBe(0);
    expect(() => client.setTimeout(-1)).toThrow(RangeError);
    expect(() => client.setTimeout('20' as never)).toThrow(TypeError);
    expect(peer.destroyed).toBe(false);
  });

  test('setNoDelay(), setKeepAlive(), ref() and unref() return the socket', async () => {
    const [client] = await pair();
    expect([
      client.setNoDelay(true),
      client.setKeepAlive(true, 1000),
      client.unref(),
      client.ref(),
    ]).toEqual([client, client, client, client]);
  });

  test('cork() and uncork() send everything once', async () => {
    const [client, peer] = await pair();
    client.cork();
    for (let i = 0; i < 100; i++) client.write(`${i},`);
    client.uncork();
    client.end();
    expect(await textOf(peer)).toBe(Array.from({ length: 100 }, (_, i) => `${i},`).join(''));
  });

  test('for await that is left destroys the socket', async () => {
    const [client, peer] = await pair();
    client.write('x');
    for await (const bytes of peer) {
      expect(bytes.toString()).toBe('x');
      break;
    }
    expect(peer.destroyed).toBe(true);
  });

  test('a signal destroys the socket with its reason', async () => {
    const { port } = await serve();
    const controller = new AbortController();
    const client = connect({ port, host: '127.0.0.1', signal: controller.signal });
    const failed = once(client, 'error');
    controller.abort();
    expect(await failed).toMatchObject([{ name: 'AbortError' }]);
  });

  test('many sockets at once echo their own bytes', async () => {
    const { port } = await serve({}, (socket) => void socket.pipe(socket).on('error', () => {}));
    const echo = async (text: string) => {
      const client = connect({ port, host: '127.0.0.1' });
      client.end(text);
      return textOf(client);
    };
    const texts = Array.from({ length: 100 }, (_, i) => `${i} `.repeat(1 + ((i * 997) % 20_000)));
    expect(await Promise.all(texts.map(echo))).toEqual(texts);
  });

  test('the server closes when its last socket has closed', async () => {
    const { server, port } = await serve({}, (socket) => socket.resume());
    const client = connect({ port, host: '127.0.0.1' });
    await once(client, 'connect');
    let isClosed = false;
    const closed = new Promise<void>((resolve) => server.close(() => resolve())).then(
      () => (isClosed = true),
    );
    expect(server.listening).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    client.end();
    await closed;
  });

  test('maxConnections refuses further sockets', async () => {
    const { server, port } = await serve();
    server.maxConnections = 1;
    const first = connect({ port, host: '127.0.0.1' });
    await once(first, 'connect');
    const second = connect({ port, host: '127.0.0.1' }).on('error', () => {});
    second.resume();
    await closeOf(second);
    expect(
      await new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    ).toBe(1);
    first.destroy();
  });

  test("a reader that calls read() once for each 'readable' finds one piece in the buffer", async () => {
    const [client, peer] = await pair();
    const buffered = new Set<number>();
    const { push } = peer;
    peer.push = (bytes) => {
      buffered.add(peer.readableLength);
      return push.call(peer, bytes);
    };
    const read: Buffer[] = [];
    peer.on('readable', () => {
      const bytes = peer.read();
      if (bytes !== null) read.push(bytes);
    });
    const bytes = Buffer.alloc(1_000_000, 'once');
    client.end(bytes);
    await once(peer, 'end');
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
    expect([...buffered]).toEqual([0]);
  });

  test('pauseOnConnect gives sockets whose bytes wait', async () => {
    const { server, port } = await serve({ pauseOnConnect: true });
    const accepted = once(server, 'connection');
    const client = connect({ port, host: '127.0.0.1' });
    client.end('later');
    const [peer] = await accepted;
    let read = '';
    peer.on('data', (bytes: Buffer) => (read += bytes));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(read).toBe('');
    peer.resume();
    await once(peer, 'end');
    expect(read).toBe('later');
  });
});

test('a socket that requires the fabric does not join a session without it', async () => {
  const server = fabric.createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as tcp.AddressInfo;
  const options = { port, host: '127.0.0.1', provider: 'shm' };
  const first = fabric.connect(options);
  onTestFinished(() => void first.destroy());
  await once(first, 'connect');
  const second = fabric.connect({ ...options, require: 'fabric' });
  const [error] = await once(second, 'error');
  expect(error).toMatchObject({ code: 'EPROTONOSUPPORT' });
});
