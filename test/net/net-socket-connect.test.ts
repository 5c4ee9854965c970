// How sockets of libfabric/net connect: as those of node:net. Each test runs over both.
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import {
  closeOf,
  eventsOf,
  isQuick,
  libraries,
  resultOf,
  textOf,
  turn,
} from '../support/net-libraries.js';

describe.each(casesOf(libraries, isQuick))(
  '%s',
  (_name, { create, serve, open, pair, unusedPort }) => {
    test('the states of a socket', async () => {
      const { port } = await serve();
      const client = open(port);
      expect([client.connecting, client.pending, client.readyState]).toEqual([
        true,
        true,
        'opening',
      ]);
      await once(client, 'ready');
      expect([client.connecting, client.pending, client.readyState]).toEqual([
        false,
        false,
        'open',
      ]);
      client.end();
      await once(client, 'finish');
      expect(client.readyState).toBe('readOnly');
      client.destroy();
      await once(client, 'close');
      expect([client.destroyed, client.pending, client.readyState]).toEqual([true, true, 'closed']);
    });

    test('emits connect and then ready, once', async () => {
      const { port } = await serve();
      const client = open(port);
      const events = eventsOf(client, 'connect', 'ready');
      await once(client, 'ready');
      await turn();
      expect(events).toEqual(['connect', 'ready']);
    });

    test('what is written while it connects arrives after it has connected', async () => {
      const { server, port } = await serve();
      const accepted = once(server, 'connection');
      const client = open(port);
      client.write('a');
      client.write('b', () => expect(client.connecting).toBe(false));
      client.end('c');
      const [peer] = await accepted;
      expect(await textOf(peer)).toBe('abc');
    });

    test('what is written before, when and after it connects arrives in this order', async () => {
      const { server, port } = await serve();
      const accepted = once(server, 'connection');
      const client = open(port);
      client.write('before ');
      client.on('connect', () => client.write('when '));
      client.on('ready', () => setImmediate(() => client.end('after')));
      const [peer] = await accepted;
      expect(await textOf(peer)).toBe('before when after');
    });

    test('counts what waits for the connection', async () => {
      const { port } = await serve();
      const client = open(port);
      const counts = [];
      for (let i = 0; i < 5; i++) {
        client.write('abc');
        counts.push([client.bytesWritten, client.bufferSize]);
      }
      expect(counts).toEqual([3, 6, 9, 12, 15].map((bytes) => [bytes, bytes]));
      client.end();
      await once(client, 'finish');
      expect([client.bytesWritten, client.bufferSize]).toEqual([15, 0]);
    });

    test('end() while it connects ends its side after it has connected', async () => {
      const { port } = await serve({}, (socket) => socket.resume());
      const client = open(port).resume();
      const events = eventsOf(client, 'connect', 'finish', 'end', 'close');
      client.end();
      expect(await closeOf(client)).toBe(false);
      expect(events).toEqual(['connect', 'finish', 'end', 'close']);
    });

    test('a socket that connects nowhere may end, and does not write', async () => {
      const [ended, written] = [create(), create()];
      ended.end();
      expect([ended.writable, ended.pending, ended.connecting]).toEqual([false, true, false]);
      const failed = once(written, 'error');
      expect(await resultOf((done) => written.write('x', done))).toBe('ERR_SOCKET_CLOSED');
      expect(await failed).toMatchObject([{ code: 'ERR_SOCKET_CLOSED' }]);
    });

    test('a connection that is refused emits one error and closes', async () => {
      const client = open(await unusedPort());
      const errors: unknown[] = [];
      client.on('error', (error) => errors.push(error));
      expect(await closeOf(client)).toBe(true);
      expect(errors).toMatchObject([{ code: 'ECONNREFUSED', syscall: 'connect' }]);
    });

    test('end() does not hide that the connection is refused', async () => {
      const client = open(await unusedPort());
      const events = eventsOf(client, 'connect', 'error', 'finish', 'end');
      client.end();
      expect(await closeOf(client)).toBe(true);
      expect(events).toEqual(['error']);
    });

    test('a write fails if the connection is refused', async () => {
      const client = open(await unusedPort());
      const events = eventsOf(client, 'error');
      const closed = closeOf(client);
      expect(await resultOf((done) => client.write('x', done))).toBe(
        'ERR_SOCKET_CLOSED_BEFORE_CONNECTION',
      );
      expect(await closed).toBe(true);
      expect(events).toEqual(['error']);
    });

    test.each(['localhost', '127.0.0.1'])(
      'destroy() while it connects to %s emits neither connect nor an error',
      async (host) => {
        const { port } = await serve();
        const client = open(port, { host });
        const events = eventsOf(client, 'connect', 'ready', 'error', 'end', 'finish');
        client.destroy();
        expect(await closeOf(client)).toBe(false);
        await turn();
        expect(events).toEqual([]);
      },
    );

    test('a write that waits for the connection fails if the socket is destroyed', async () => {
      const { port } = await serve();
      const client = open(port);
      const failed = resultOf((done) => client.write('x', done));
      client.destroy();
      expect(await failed).toBe('ERR_SOCKET_CLOSED_BEFORE_CONNECTION');
    });

    test('resetAndDestroy() while it connects is ECONNRESET at the peer', async () => {
      const { server, port } = await serve();
      const accepted = once(server, 'connection');
      const client = open(port);
      client.resetAndDestroy();
      const closed = closeOf(client);
      const [peer] = await accepted;
      expect(await once(peer, 'error')).toMatchObject([{ code: 'ECONNRESET' }]);
      expect(await closed).toBe(false);
    });

    test('resetAndDestroy() of a socket that connects nowhere is an error', async () => {
      const socket = create();
      const failed = once(socket, 'error');
      socket.resetAndDestroy();
      expect(await failed).toMatchObject([{ code: 'ERR_SOCKET_CLOSED' }]);
    });

    test.each([
      ['before it connects', (controller: AbortController) => controller.abort()],
      [
        'while it connects',
        (controller: AbortController) => queueMicrotask(() => controller.abort()),
      ],
    ])('a signal that aborts %s destroys the socket', async (_when, abort) => {
      const { port } = await serve();
      const controller = new AbortController();
      abort(controller);
      const client = open(port, { signal: controller.signal });
      const events = eventsOf(client, 'connect');
      expect(await once(client, 'error')).toMatchObject([
        { name: 'AbortError', code: 'ABORT_ERR' },
      ]);
      expect(events).toEqual([]);
    });

    test('a signal that aborts later destroys the socket, with its reason as cause', async () => {
      const controller = new AbortController();
      const [client] = await pair({ signal: controller.signal });
      const failed = once(client, 'error');
      controller.abort('enough');
      expect(await failed).toMatchObject([{ name: 'AbortError', cause: 'enough' }]);
    });

    test('a signal that aborts after the socket has closed does nothing', async () => {
      const controller = new AbortController();
      const [client] = await pair({ signal: controller.signal });
      const events = eventsOf(client, 'error');
      client.destroy();
      await once(client, 'close');
      controller.abort();
      await turn();
      expect(events).toEqual([]);
    });

    test('pause() while it connects keeps bytes back until resume()', async () => {
      const { port } = await serve({}, (socket) => socket.end('hello'));
      const client = open(port).pause();
      let read = '';
      client.on('data', (bytes) => (read += bytes));
      await once(client, 'connect');
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(read).toBe('');
      client.resume();
      await once(client, 'end');
      expect(read).toBe('hello');
    });
  },
);
