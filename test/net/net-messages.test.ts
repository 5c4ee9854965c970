// Messages of libfabric/net: boundaries, order, back-pressure, ends, and memory that the peer reads.
import '../support/softefa.js';
import { getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, type MessageSocket } from '../../dist/net/index.js';
import { TransferEngine } from '../../dist/transfer/index.js';
import { pattern } from '../support/bytes.js';
import { casesOf, slow } from '../support/cases.js';
import { HOST, serve } from '../support/net-pair.js';

const cases: [string, object][] = [
  ['shm', { provider: 'shm' }],
  ['shm, loop driver', { provider: 'shm', driver: 'loop' }],
  ['efa', { provider: 'efa' }],
  ['tcp', { provider: 'tcp', node: '127.0.0.1' }],
  ['no fabric', {}],
];

async function textsOf(socket: MessageSocket): Promise<string[]> {
  const texts: string[] = [];
  for await (const message of socket) texts.push(Buffer.from(message).toString());
  return texts;
}

const SIZES = [0, 1, 63, 64, 8192, 8193, 32_700, 65_536, 300_000, 3_000_000];

describe.each(casesOf(cases, ([name]) => /loop|efa|no fabric/.test(name)))(
  '%s',
  (_name, options) => {
    const { driver: _driver, ...engineOptions } = { provider: 'shm', ...options } as {
      driver?: string;
      provider: string;
    };

    async function pair(
      ofClient: object = {},
      ofServer = ofClient,
    ): Promise<[MessageSocket, MessageSocket]> {
      const [server, port] = await serve({ ...options, ...ofServer });
      const accepted = once(server, 'messages');
      const client = connect({
        port,
        host: HOST,
        mode: 'messages',
        ...options,
        ...ofClient,
      });
      const [[peer]] = await Promise.all([accepted, once(client, 'connect')]);
      onTestFinished(() => {
        client.destroy();
        peer.destroy();
      });
      return [client, peer];
    }

    test('messages of any size keep their boundaries and their order in both directions', async () => {
      const sockets = await pair();
      const bytes = pattern(3_000_000);
      const sent = sockets.map(async (socket) => {
        for (const size of SIZES) await socket.send(bytes.subarray(0, size));
        socket.end();
      });
      const read = sockets.map(async (socket) => {
        const lengths: number[] = [];
        for await (const message of socket) {
          expect(Buffer.compare(message, bytes.subarray(0, message.length))).toBe(0);
          lengths.push(message.length);
        }
        return lengths;
      });
      expect(await Promise.all(read)).toEqual([SIZES, SIZES]);
      await Promise.all(sent);
    });

    test('a message may be changed when send() has resolved', async () => {
      const [client, peer] = await pair();
      const message = Buffer.alloc(100_000);
      const read = (async () => {
        for (let i = 0; i < 50; i++) {
          const received = (await peer.receive()) as Uint8Array;
          expect(received.length === message.length && received.every((byte) => byte === i)).toBe(
            true,
          );
        }
      })();
      for (let i = 0; i < 50; i++) await client.send(message.fill(i));
      await read;
    });

    test.each(['end', 'destroy'] as const)(
      'end() before it has connected closes it, when the peer has called %s()',
      async (how) => {
        const [server, port] = await serve(options);
        server.on('messages', async (peer) => {
          const texts = await textsOf(peer);
          peer[how]();
          server.emit('texts', texts);
        });
        for (const text of ['', 'a message']) {
          const told = once(server, 'texts');
          const client = connect({ port, host: HOST, mode: 'messages', ...options });
          if (text) client.send(text).catch(() => {});
          client.end();
          await once(client, 'close');
          expect(await told).toEqual([text ? [text] : []]);
        }
      },
    );

    test('a message whose send() has resolved before it has connected arrives although destroy() follows', async () => {
      const [server, port] = await serve(options);
      const texts = new Promise((resolve) => {
        server.on('messages', (peer) => resolve(textsOf(peer)));
      });
      const client = connect({ port, host: HOST, mode: 'messages', ...options });
      for (const text of ['a', 'b']) await client.send(text);
      client.destroy();
      expect(await texts).toEqual(['a', 'b']);
      const early = connect({ port, host: HOST, mode: 'messages', ...options });
      const refused = expect(early.send('x')).rejects.toThrow();
      early.destroy();
      await refused;
    });

    test('a socket that the peer destroys at once has ended', async () => {
      const [server, port] = await serve({ ...options });
      server.maxConnections = 0;
      const client = connect({ port, host: HOST, mode: 'messages', ...options });
      expect(await client.receive().catch(({ code }) => code)).toSatisfy((result) =>
        [undefined, 'ECONNRESET'].includes(result),
      );
    });

    test('the memory of a borrowed message cannot be transferred', async () => {
      const [client, peer] = await pair();
      for (let i = 0; i < 3; i++) {
        await client.send(Buffer.alloc(1000, i));
        const message = (await peer.receive({ borrow: true })) as Uint8Array<ArrayBuffer>;
        try {
          structuredClone(message, { transfer: [message.buffer] }); // Node.js 20 copies it, later ones throw
        } catch {}
        expect(message.every((byte) => byte === i) && message.length).toBe(1000);
      }
    });

    test('messages that the program keeps do not change, and their memory is their own', async () => {
      const [client, peer] = await pair();
      const sizes = Array.from(
        { length: 300 },
        (_, i) => (i % 3) * 900 + (i % 50 === 0 ? 70_000 : 1),
      );
      const sending = (async () => {
        for (const [i, size] of sizes.entries()) await client.send(Buffer.alloc(size, i));
        client.end();
      })();
      const kept: Uint8Array[] = [];
      kept.push((await peer.receive()) as Uint8Array);
      for await (const message of peer) kept.push(message);
      await sending;
      expect(kept.map(({ length }) => length)).toEqual(sizes);
      for (const [i, message] of kept.entries())
        expect(message.every((byte) => byte === i % 256) && message.buffer.byteLength).toBe(
          sizes[i],
        );
    });

    test('borrowed messages are the same bytes, until the next one', async () => {
      const [client, peer] = await pair();
      const texts = Array.from({ length: 100 }, (_, i) => `message ${i}`);
      for (const text of texts) client.send(text);
      client.end();
      const received = [
        Buffer.from((await peer.receive({ borrow: true })) as Uint8Array).toString(),
      ];
      let last: Uint8Array | undefined;
      let shared = 0;
      for await (const message of peer.messages({ borrow: true })) {
        received.push(Buffer.from(message).toString());
        if (last?.buffer === message.buffer) shared += 1;
        last = message;
      }
      expect(received).toEqual(texts);
      expect(shared).toBeGreaterThan(50);
      await expect(peer.receive({ borrow: 1 as never })).rejects.toThrow(TypeError);
    });

    test('many short messages that nobody waits for arrive', async () => {
      const [client, peer] = await pair();
      const sent = Array.from({ length: 20_000 }, (_, i) => client.send(`message ${i}`));
      for (let i = 0; i < sent.length; i++)
        expect(Buffer.from((await peer.receive()) as Uint8Array).toString()).toBe(`message ${i}`);
      await Promise.all(sent);
    });

    test('send() waits if the peer does not receive, and goes on when it does', async () => {
      const [client, peer] = await pair();
      const message = new Uint8Array(50_000);
      let sent = 0;
      const sending = (async () => {
        for (; sent < 200; sent++) await client.send(message);
      })();
      for (let last = -1; last !== sent; await new Promise((resolve) => setTimeout(resolve, 50)))
        last = sent;
      expect(sent).toBeLessThan(200);
      for (let i = 0; i < 200; i++) await peer.receive();
      await sending;
    });

    test('messages that were sent before it connects arrive', async () => {
      const [server, port] = await serve(options);
      const accepted = once(server, 'messages');
      const client = connect({ port, host: HOST, mode: 'messages', ...options });
      onTestFinished(() => client.destroy());
      await client.send('early');
      client.end();
      const [peer] = (await accepted) as [MessageSocket];
      expect(Buffer.from((await peer.receive()) as Uint8Array).toString()).toBe('early');
      expect(await peer.receive()).toBe(undefined);
      peer.destroy();
    });

    test('a message that arrives before it has connected is received', async () => {
      const [server, port] = await serve(options);
      server.on('messages', (socket) => {
        socket.send('welcome').catch(() => {});
        socket.end();
      });
      const client = connect({ port, host: HOST, mode: 'messages', ...options });
      onTestFinished(() => client.destroy());
      client.end();
      const received: string[] = [];
      for await (const message of client) received.push(Buffer.from(message).toString());
      expect(received).toEqual(['welcome']);
    });

    test('a peer that is destroyed ends receive(), and its writer gets an error', async () => {
      const [client, peer] = await pair();
      const received = peer.receive();
      client.destroy();
      expect(await received).toBe(undefined);
      await expect(client.send('x')).rejects.toMatchObject({ code: 'ERR_STREAM_DESTROYED' });
      await expect(client.receive()).rejects.toMatchObject({ code: 'ERR_STREAM_DESTROYED' });
    });

    test('messages whose send() has resolved arrive although destroy() follows', async () => {
      const [client, peer] = await pair();
      for (const text of ['a', 'b']) await client.send(text);
      client.destroy();
      expect(await textsOf(peer)).toEqual(['a', 'b']);
    });

    test('a socket that is destroyed before all was accepted is ECONNRESET after what was', async () => {
      const [client, peer] = await pair();
      await client.send('first');
      const waiting = client.send(new Uint8Array(10_000_000));
      client.destroy();
      await expect(waiting).rejects.toMatchObject({ code: 'ERR_STREAM_DESTROYED' });
      expect(Buffer.from((await peer.receive()) as Uint8Array).toString()).toBe('first');
      await expect(peer.receive()).rejects.toMatchObject({ code: 'ECONNRESET' });
      expect(peer.closed).toBe(true);
    });

    test('messages that arrived before a reset are received, then the error', async () => {
      const [client, peer] = await pair();
      for (const text of ['go', 'unread']) client.send(text); // they travel together
      await peer.receive();
      for (const text of ['a', 'b']) await peer.send(text);
      peer.destroy();
      for (const text of ['a', 'b'])
        expect(Buffer.from((await client.receive()) as Uint8Array).toString()).toBe(text);
      await expect(client.receive()).rejects.toMatchObject({ code: 'ECONNRESET' });
    });

    test('a socket that only sends closes when both sides have ended', async () => {
      const [client, peer] = await pair();
      const closed = [client, peer].map((socket) => once(socket, 'close'));
      await client.send('x');
      client.end();
      expect(await textsOf(peer)).toEqual(['x']);
      peer.end();
      await Promise.all(closed);
    });

    test('sockets that nobody reads close when both sides have ended', async () => {
      const sockets = await pair();
      const closed = sockets.map((socket) => once(socket, 'close'));
      for (const socket of sockets) socket.end();
      await Promise.all(closed);
    });

    test.runIf(slow)('await using ends after 5 seconds if the peer does not end', async () => {
      const [client, peer] = await pair();
      await client.send('x');
      await client[Symbol.asyncDispose]();
      expect(client.closed).toBe(true);
      expect(await textsOf(peer)).toEqual(['x']);
    });

    test('a signal ends receive(), and the next call gets the message', async () => {
      const [client, peer] = await pair();
      const controller = new AbortController();
      const received = peer.receive({ signal: controller.signal });
      controller.abort();
      await expect(received).rejects.toMatchObject({ name: 'AbortError' });
      await client.send('later');
      expect(Buffer.from((await peer.receive()) as Uint8Array).toString()).toBe('later');
    });

    test('a message longer than maxMessageLength ends the socket with EMSGSIZE', async () => {
      const [client, peer] = await pair({}, { maxMessageLength: 1000 });
      await client.send(new Uint8Array(1000));
      expect((await peer.receive())?.length).toBe(1000);
      await client.send(new Uint8Array(1001));
      await expect(peer.receive()).rejects.toMatchObject({ code: 'EMSGSIZE' });
      expect(peer.closed).toBe(true);
    });

    test('a server without a listener for messages refuses the socket', async () => {
      const [, port] = await serve(options);
      const client = connect({ port, host: HOST, mode: 'messages', ...options });
      await expect(client.receive()).rejects.toMatchObject({ code: 'EPROTONOSUPPORT' });
    });

    test('two calls cannot receive at the same time', async () => {
      const [client, peer] = await pair();
      const first = peer.receive();
      await expect(peer.receive()).rejects.toMatchObject({ code: 'ERR_INVALID_STATE' });
      await client.send('one');
      expect(Buffer.from((await first) as Uint8Array).toString()).toBe('one');
    });

    test('await using ends the socket after what was sent', async () => {
      const [client, peer] = await pair();
      await client.send(new Uint8Array(300_000));
      const disposed = client[Symbol.asyncDispose]();
      expect((await peer.receive())?.length).toBe(300_000);
      expect(await peer.receive()).toBe(undefined);
      peer.end();
      await disposed;
      expect(client.closed).toBe(true);
    });

    test('sendFrom() and receiveInto() move memory between transfer engines, in order with messages', async () => {
      const open = async () => {
        const engine = await TransferEngine.open(engineOptions);
        onTestFinished(() => engine.close());
        return engine;
      };
      const [mine, theirs] = [await open(), await open()];
      const [client, peer] = await pair({ engine: mine }, { engine: theirs });
      const bytes = pattern(2_000_000);
      const from = await mine.register(bytes);
      const into = await theirs.allocate(2_000_000);
      await client.send('before');
      const sent = client.sendFrom(from);
      expect(Buffer.from((await peer.receive()) as Uint8Array).toString()).toBe('before');
      expect(await peer.receiveInto(into)).toBe(2_000_000);
      expect(Buffer.compare(into.bytes as Uint8Array, bytes)).toBe(0);
      await sent;
      await client.send('short');
      expect(await peer.receiveInto(into)).toBe(5);
      const copied = client.sendFrom(from.slice(0, 1000));
      expect(Buffer.compare((await peer.receive()) as Uint8Array, bytes.subarray(0, 1000))).toBe(0);
      await copied;
    });

    test('sendFrom() fails if a side has no transfer engine', async () => {
      const engine = await TransferEngine.open(engineOptions);
      onTestFinished(() => engine.close());
      const [client, peer] = await pair({ engine }, {});
      const memory = await engine.allocate(1000);
      await expect(client.sendFrom(memory)).rejects.toMatchObject({ code: 'ERR_INVALID_STATE' });
      await expect(peer.sendFrom(memory)).rejects.toMatchObject({ code: 'ERR_INVALID_STATE' });
    });
  },
);

/** A socket whose server never answers. */
async function unanswered(options: object): Promise<MessageSocket> {
  const server = createTcpServer().listen(0, HOST);
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: HOST, mode: 'messages', ...options });
  const [control] = await accepted;
  onTestFinished(() => {
    socket.destroy();
    control.destroy();
    server.close();
  });
  return socket;
}

test('a signal ends sendFrom() while the socket connects', async () => {
  const engine = await TransferEngine.open({ provider: 'shm' });
  onTestFinished(() => engine.close());
  const socket = await unanswered({ engine });
  const controller = new AbortController();
  const sent = socket.sendFrom(await engine.allocate(1000), { signal: controller.signal });
  controller.abort();
  await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
});

test('one signal may destroy many sockets, and does not keep those that are destroyed', async () => {
  const { signal } = new AbortController();
  const destroyed = await Promise.all(Array.from({ length: 12 }, () => unanswered({ signal })));
  expect(getEventListeners(signal, 'abort').length).toBe(1);
  for (const socket of destroyed) socket.destroy();
  expect(getEventListeners(signal, 'abort').length).toBe(0);

  const controller = new AbortController();
  const aborted = await Promise.all(
    Array.from({ length: 12 }, () => unanswered({ signal: controller.signal })),
  );
  const closed = aborted.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  controller.abort();
  for (const error of await Promise.all(closed))
    expect(error).toMatchObject({ code: 'ABORT_ERR', cause: controller.signal.reason });
});

test.each([['not a signal'], [{}], [null]])('signal: %j is an error', async (signal) => {
  const [, port] = await serve({});
  expect(() => connect({ port, host: HOST, mode: 'messages', signal } as never)).toThrow(TypeError);
});
