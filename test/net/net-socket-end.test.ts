// How sockets of libfabric/net end, are destroyed and reset: as those of node:net. Each test runs over both.
import { once } from 'node:events';
import { finished, pipeline } from 'node:stream/promises';
import { describe, expect, test } from 'vitest';
import type { FabricSocket } from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { block } from '../support/event-loop.js';
import {
  closeOf,
  eventsOf,
  isQuick,
  libraries,
  resultOf,
  textOf,
  turn,
} from '../support/net-libraries.js';

describe.each(casesOf(libraries, isQuick))('%s', (_name, { serve, open, pair, join }) => {
  test('bytes arrive in both directions, and end() ends one side', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    client.end('ping');
    expect(await textOf(peer)).toBe('ping');
    expect(peer.writable).toBe(true);
    const closed = Promise.all([closeOf(client), closeOf(peer)]);
    peer.end('pong');
    expect(await textOf(client)).toBe('pong');
    expect(await closed).toEqual([false, false]);
  });

  test('without allowHalfOpen, the end of one side ends the other', async () => {
    const [client, peer] = await pair();
    const events = [client, peer].map((socket) => eventsOf(socket, 'end', 'finish', 'close'));
    const closed = Promise.all([once(client, 'close'), once(peer, 'close')]);
    client.resume();
    peer.resume();
    client.end();
    expect(await closed).toEqual([[false], [false]]);
    expect(events).toEqual([
      ['finish', 'end', 'close'],
      ['end', 'finish', 'close'],
    ]);
  });

  test('with allowHalfOpen, a socket closes after its own end', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    const events = eventsOf(peer, 'end', 'finish', 'close');
    client.end();
    client.resume();
    await once(peer.resume(), 'end');
    await turn();
    expect([events, peer.writable, peer.readyState]).toEqual([['end'], true, 'writeOnly']);
    const closed = closeOf(peer);
    peer.end();
    expect(await closed).toBe(false);
    expect(events).toEqual(['end', 'finish', 'close']);
  });

  test('a socket that nobody reads closes if the peer ends without bytes', async () => {
    const [client, peer] = await pair();
    const closed = Promise.all([closeOf(client), closeOf(peer)]);
    peer.end();
    expect(await closed).toEqual([false, false]);
  });

  test('a socket with unread bytes closes when they are read', async () => {
    const [client, peer] = await pair();
    const events = eventsOf(peer, 'end', 'close');
    client.end('unread');
    await once(peer, 'readable');
    await turn();
    expect(events).toEqual([]);
    const closed = closeOf(peer);
    expect(await textOf(peer)).toBe('unread');
    await closed;
    expect(events).toEqual(['end', 'close']);
  });

  test('a listener of end may still write', async () => {
    const [client, peer] = await pair();
    peer.end();
    client.on('end', () => {
      expect(client.writable).toBe(true);
      client.write('last');
    });
    client.resume();
    expect(await textOf(peer)).toBe('last');
  });

  test('callbacks of end() are called when it has finished', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    peer.resume();
    const results = [
      resultOf((done) => client.end('x', done)),
      resultOf((done) => client.end(done)),
    ];
    expect(client.writableFinished).toBe(false);
    expect(await Promise.all(results)).toEqual([null, null]);
    expect(client.writableFinished).toBe(true);
    expect(await resultOf((done) => client.end(done))).toBe('ERR_STREAM_ALREADY_FINISHED');
  });

  test('destroy() without unread bytes is an end at the peer', async () => {
    const [client, peer] = await pair();
    const errors = eventsOf(peer, 'error');
    client.write('last words');
    client.destroySoon();
    expect(await textOf(peer)).toBe('last words');
    expect(errors).toEqual([]);
  });

  test('destroy() with unread bytes is ECONNRESET at the peer', async () => {
    const { server, port } = await serve({ pauseOnConnect: true });
    const [client, peer] = await join(server, port);
    client.write('unread');
    await join(server, port); // the bytes have arrived before this socket
    const failed = once(client, 'error');
    peer.destroy();
    expect(await failed).toMatchObject([{ code: 'ECONNRESET', syscall: 'read' }]);
  });

  test('destroySoon() ends a large write before it destroys the socket', async () => {
    const [client, peer] = await pair();
    client.write(Buffer.alloc(5_000_000, 'x'));
    client.destroySoon();
    expect((await textOf(peer)).length).toBe(5_000_000);
    if (!client.closed) await closeOf(client);
  });

  test('destroy() emits close once, also from listeners', async () => {
    const [client, peer] = await pair();
    const events = eventsOf(peer, 'end', 'error', 'close');
    peer.on('end', () => peer.destroy());
    peer.on('close', () => peer.destroy());
    peer.resume();
    client.end();
    await once(peer, 'close');
    await turn();
    expect(events).toEqual(['end', 'close']);
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

  test.each(['client', 'server'])(
    'resetAndDestroy() of a %s is ECONNRESET at the peer',
    async (who) => {
      const [client, server] = await pair();
      const [socket, peer] = who === 'client' ? [client, server] : [server, client];
      peer.resume();
      const failed = once(peer, 'error');
      const closed = Promise.all([closeOf(socket), closeOf(peer)]);
      socket.resetAndDestroy();
      expect(await failed).toMatchObject([{ code: 'ECONNRESET', errno: -104, syscall: 'read' }]);
      expect(await closed).toEqual([false, true]);
    },
  );

  test('resetAndDestroy() after destroy() does nothing', async () => {
    const [client] = await pair();
    const events = eventsOf(client, 'error', 'close');
    client.destroy();
    client.resetAndDestroy();
    await once(client, 'close');
    await turn();
    expect(events).toEqual(['close']);
  });

  test('write() after resetAndDestroy() fails in its callback only', async () => {
    const [client] = await pair();
    const events = eventsOf(client, 'error');
    client.resetAndDestroy();
    expect(await resultOf((done) => client.write('x', done))).toBe('ERR_STREAM_DESTROYED');
    client.end();
    await turn();
    expect(events).toEqual([]);
  });

  test('the members of a closed socket do not throw', async () => {
    const { port } = await serve();
    const client = open(port);
    await once(client, 'connect');
    client.destroy();
    await once(client, 'close');
    expect(client.setNoDelay()).toBe(client);
    expect(client.setKeepAlive()).toBe(client);
    expect(client.ref().unref().pause().resume()).toBe(client);
    expect(client.setTimeout(10)).toBe(client);
    expect([client.bytesRead, client.bytesWritten, client.read()]).toEqual([0, 0, null]);
    expect(client.bufferSize || 0).toBe(0);
    client.address();
    client.destroySoon();
  });

  test('finished() and pipeline() see an end and a premature close', async () => {
    const [client, peer] = await pair();
    const echo = pipeline(peer, peer);
    client.resume().end('x');
    await Promise.all([echo, finished(client)]);
    expect([client.destroyed, client.readableEnded, client.writableFinished]).toEqual([
      true,
      true,
      true,
    ]);
    const [other] = await pair();
    const early = finished(other).catch((error) => error);
    other.destroy();
    expect(await early).toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
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
});

// node:net drops what is in its own buffers, and Linux may lose a reset.
describe.each(libraries.filter(([name]) => name !== 'node:net'))('%s', (_name, library) => {
  const { serve, join, pair } = library;

  test('what was accepted arrives before the reset of a socket with unread bytes', async () => {
    const { server, port } = await serve({ pauseOnConnect: true });
    const [client, peer] = await join(server, port);
    client.write('unread');
    await join(server, port); // the bytes have arrived before this socket
    const events = eventsOf(client, 'error', 'close');
    const read: Buffer[] = [];
    client.on('data', (bytes) => read.push(bytes));
    const bytes = pattern(200_000);
    expect(await resultOf((done) => peer.write(bytes, done))).toBe(null);
    peer.destroy();
    expect(await closeOf(client)).toBe(true);
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
    expect(events).toEqual(['error', 'close']);
  });

  test('what was accepted arrives although the peer goes on writing after destroySoon()', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    const read: Buffer[] = [];
    client.on('data', (bytes) => read.push(bytes));
    const more = () =>
      client.writable && client.write(Buffer.alloc(100_000), () => setImmediate(more));
    more();
    await once(peer, 'data');
    const bytes = pattern(200_000);
    peer.write(bytes);
    peer.destroySoon();
    await closeOf(client);
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  test.each(['at once', 'after the end'])(
    'a write that the peer does not read hides neither its last bytes nor its end: unread %s',
    async (when) => {
      const { server, port } = await serve();
      const [client, peer] = await join(server, port, { allowHalfOpen: when === 'after the end' });
      const events = eventsOf(client, 'end', 'error', 'close');
      const read: Buffer[] = [];
      client.on('data', (bytes) => read.push(bytes));
      const result = resultOf((done) => client.write(Buffer.alloc(5_000_000), done));
      await once(peer, 'data');
      if (when === 'at once') peer.pause();
      peer.write('answer');
      peer.destroySoon();
      await closeOf(client);
      expect([Buffer.concat(read).toString(), events]).toEqual(['answer', ['end', 'close']]);
      expect(await result).toBe('ERR_STREAM_PREMATURE_CLOSE');
    },
  );

  test('for await gets all that has arrived before a reset, then the error', async () => {
    const [client, peer] = await pair();
    const bytes = pattern(150_000);
    peer.write(bytes);
    while (client.readableLength === 0) await turn();
    peer.resetAndDestroy();
    block(20);
    const read: Buffer[] = [];
    const reading = (async () => {
      for await (const each of client) {
        read.push(each);
        await turn();
      }
    })();
    await expect(reading).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  test('a paused socket keeps what has arrived before a reset until it is resumed', async () => {
    const [client, peer] = await pair();
    const bytes = pattern(150_000);
    const read: Buffer[] = [];
    client.on('data', (each) => read.push(each));
    client.pause();
    peer.write(bytes);
    const events = eventsOf(client, 'error', 'close');
    while ((client as unknown as FabricSocket).stats()?.unread === 0) await turn();
    const closed = closeOf(peer);
    peer.resetAndDestroy();
    await closed;
    for (let i = 0; i < 20; i++) await turn();
    expect(events).toEqual([]);
    client.resume();
    expect(await closeOf(client)).toBe(true);
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  test('a write that waits for a lost peer fails although the program does not read', async () => {
    const [client, peer] = await pair();
    peer.write('unread');
    client.pause();
    const result = resultOf((done) => client.write(Buffer.alloc(10_000_000), done));
    await turn();
    peer.resetAndDestroy();
    expect(await result).toBe('ECONNRESET');
  });

  test('a program that reads before it learns of a reset gets the error, not the end', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    const events = eventsOf(client, 'end', 'error', 'close');
    const closed = closeOf(client);
    client.end();
    peer.write(Buffer.alloc(100_000));
    while (client.readableLength === 0) await turn(); // in part
    peer.resetAndDestroy();
    await turn(); // sends the reset
    block(50);
    client.resume();
    expect(await closed).toBe(true);
    expect(events).toEqual(['error', 'close']);
  });
});
