// Servers of libfabric/net: as those of node:net. Each test runs over both.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import {
  closeOf,
  eventsOf,
  isQuick,
  libraries,
  resultOf,
  type Socket,
  textOf,
  turn,
} from '../support/net-libraries.js';

describe.each(casesOf(libraries, isQuick))(
  '%s',
  (_name, { createServer, serve, open, pair, join, unusedPort }) => {
    const countOf = (server: ReturnType<typeof createServer>) =>
      new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));

    test('has an address while it listens', async () => {
      const server = createServer({});
      expect([server.listening, server.address()]).toEqual([false, null]);
      let listened = 0;
      server.listen(0, '127.0.0.1', () => (listened += 1));
      await once(server, 'listening');
      const { address, family, port } = server.address() as AddressInfo;
      expect([listened, server.listening, address, family]).toEqual([1, true, '127.0.0.1', 'IPv4']);
      expect(port).toBeGreaterThan(0);
      server.close();
      await once(server, 'close');
      expect([server.listening, server.address()]).toEqual([false, null]);
    });

    test('a port that is in use is an error', async () => {
      const { port } = await serve();
      const second = createServer({});
      const events = eventsOf(second, 'listening', 'close');
      second.listen(port, '127.0.0.1');
      expect(await once(second, 'error')).toMatchObject([
        { code: 'EADDRINUSE', syscall: 'listen' },
      ]);
      expect([events, second.listening]).toEqual([[], false]);
    });

    test('listens once at a time, and again after it has closed', async () => {
      const { server } = await serve();
      expect(() => server.listen(0)).toThrow(
        expect.objectContaining({ code: 'ERR_SERVER_ALREADY_LISTEN' }),
      );
      server.close();
      await once(server, 'close');
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const [client, peer] = await join(server, (server.address() as AddressInfo).port);
      client.end('again');
      expect(await textOf(peer)).toBe('again');
    });

    test('close() of a server that does not listen is an error of its callback', async () => {
      const server = createServer({});
      expect(await resultOf((done) => server.close(done))).toBe('ERR_SERVER_NOT_RUNNING');
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const results = [
        resultOf((done) => server.close(done)),
        resultOf((done) => server.close(done)),
      ];
      expect(await Promise.all(results)).toEqual([null, 'ERR_SERVER_NOT_RUNNING']);
    });

    test('the server closes when its last socket has closed', async () => {
      const { server, port } = await serve({}, (socket) => socket.resume());
      const sockets = [open(port), open(port)] as const;
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      while ((await countOf(server)) < 2) await turn();
      const events = eventsOf(server, 'close');
      const closed = resultOf((done) => server.close(done));
      expect(server.listening).toBe(false);
      sockets[0].end();
      await once(sockets[0], 'close');
      await turn();
      expect(events).toEqual([]);
      sockets[1].end();
      expect(await closed).toBe(null);
      expect(events).toEqual(['close']);
    });

    test('a server that closes refuses new sockets, and keeps the open ones', async () => {
      const { server, port } = await serve();
      const [client, peer] = await join(server, port);
      const closed = resultOf((done) => server.close(done));
      const late = open(port);
      expect(await once(late, 'error')).toMatchObject([
        { code: 'ECONNREFUSED', syscall: 'connect' },
      ]);
      client.end('still here');
      expect(await textOf(peer)).toBe('still here');
      expect(await closed).toBe(null);
    });

    test('sockets have the addresses of both sides, also while and after they close', async () => {
      const { server, port } = await serve();
      const [client, peer] = await join(server, port);
      const remoteOf = ({ remoteAddress, remoteFamily, remotePort }: Socket) => [
        remoteAddress,
        remoteFamily,
        remotePort,
      ];
      const { localAddress: address, localFamily: family, localPort } = client;
      expect(remoteOf(client)).toEqual(['127.0.0.1', 'IPv4', port]);
      expect(remoteOf(peer)).toEqual([address, family, localPort]);
      expect(client.address()).toEqual({ address, family, port: localPort });
      expect([peer.localAddress, peer.localPort]).toEqual(['127.0.0.1', port]);
      const during: unknown[] = [];
      for (const event of ['end', 'finish', 'close']) {
        client.on(event, () => during.push(remoteOf(client)));
      }
      const closed = Promise.all([closeOf(client), closeOf(peer)]);
      client.resume().end();
      peer.resume();
      await closed;
      expect(during).toEqual(Array(3).fill(['127.0.0.1', 'IPv4', port]));
      expect(remoteOf(peer)).toEqual([address, family, localPort]);
    });

    test('counts its sockets', async () => {
      const { server, port } = await serve();
      const pairs = [await join(server, port), await join(server, port)] as const;
      expect(await countOf(server)).toBe(2);
      const closed = closeOf(pairs[0][1]);
      pairs[0][0].destroy();
      pairs[0][1].resume();
      await closed;
      expect(await countOf(server)).toBe(1);
    });

    test('maxConnections drops further sockets, until one has closed', async () => {
      const { server, port } = await serve();
      server.maxConnections = 1;
      const [first, peer] = await join(server, port);
      const dropped = once(server, 'drop');
      const second = open(port).resume();
      const [[data]] = await Promise.all([dropped, closeOf(second)]);
      expect(data).toMatchObject({ localPort: port, remoteAddress: '127.0.0.1' });
      expect(await countOf(server)).toBe(1);
      const closed = closeOf(peer);
      first.destroy();
      peer.resume();
      await closed;
      const [third, other] = await join(server, port);
      third.end('room again');
      expect(await textOf(other)).toBe('room again');
    });

    test('many sockets at once echo their own bytes', async () => {
      const { port } = await serve({}, (socket) => void socket.pipe(socket));
      const echo = async (text: string) => {
        const client = open(port);
        client.end(text);
        return textOf(client);
      };
      const texts = Array.from({ length: 100 }, (_, i) => `${i} `.repeat(1 + ((i * 997) % 20_000)));
      expect(await Promise.all(texts.map(echo))).toEqual(texts);
    });

    test('an error that a listener throws does not stop other sockets', async () => {
      const { server, port } = await serve();
      const thrown: unknown[] = [];
      const others = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      process.on('uncaughtException', (error) => thrown.push(error.message));
      onTestFinished(() => {
        process.removeAllListeners('uncaughtException');
        for (const each of others) process.on('uncaughtException', each);
      });
      server.once('connection', () => {
        throw new Error('of the listener');
      });
      open(port);
      while (thrown.length === 0) await turn();
      expect(thrown).toEqual(['of the listener']);
      const [client, peer] = await join(server, port);
      client.end('unharmed');
      expect(await textOf(peer)).toBe('unharmed');
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

    test('a port at which nobody listens any more refuses', async () => {
      const port = await unusedPort();
      expect(await once(open(port), 'error')).toMatchObject([{ code: 'ECONNREFUSED', port }]);
    });
  },
);
