// What sockets of libfabric/net read: as those of node:net. Each test runs over both.
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, createServer } from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import {
  closeOf,
  isQuick,
  libraries,
  type Socket,
  textOf,
  turn,
} from '../support/net-libraries.js';

describe.each(casesOf(libraries, isQuick))('%s', (name, { serve, open, pair, join }) => {
  const isNodeNet = name === 'node:net';

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
    if (!isNodeNet) expect([...buffered]).toEqual([0]);
  });

  test('setEncoding() joins characters that arrive in parts', async () => {
    const [client, peer] = await pair();
    const text = textOf(peer.setEncoding('utf8'));
    for (const byte of Buffer.from('aäπ🎉')) {
      client.write(Buffer.from([byte]));
      await turn();
    }
    client.end();
    expect(await text).toBe('aäπ🎉');
  });

  test('read(n) gives as many bytes as asked for, from readable to readable', async () => {
    const [client, peer] = await pair();
    const frames = Array.from({ length: 200 }, (_, i) => Buffer.alloc(1 + ((i * 613) % 3000), i));
    for (const frame of frames) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(frame.length);
      client.write(length);
      client.write(frame);
    }
    client.end();
    const read: Buffer[] = [];
    let next: number | undefined;
    peer.on('readable', () => {
      for (;;) {
        next ??= (peer.read(2) as Buffer | null)?.readUInt16BE();
        const frame = next === undefined ? null : (peer.read(next) as Buffer | null);
        if (frame === null) return;
        read.push(frame);
        next = undefined;
      }
    });
    await once(peer, 'end');
    expect(Buffer.concat(read).equals(Buffer.concat(frames))).toBe(true);
    expect(read.map(({ length }) => length)).toEqual(frames.map(({ length }) => length));
  });

  test('unshift() gives bytes back to the next reader', async () => {
    const [client, peer] = await pair();
    client.end('head body');
    await once(peer, 'readable');
    const bytes = peer.read() as Buffer;
    peer.unshift(bytes.subarray(5));
    expect(await textOf(peer)).toBe('body');
  });

  test('pause() in a listener of data stops it until resume()', async () => {
    const [client, peer] = await pair();
    const bytes = Buffer.from(pattern(2_000_000));
    const read: Buffer[] = [];
    peer.on('data', (chunk) => {
      expect(peer.isPaused()).toBe(false);
      read.push(chunk);
      peer.pause();
      setImmediate(() => peer.resume());
    });
    client.end(bytes);
    await once(peer, 'end');
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  test('pauseOnConnect gives sockets whose bytes wait', async () => {
    const { server, port } = await serve({ pauseOnConnect: true });
    const [client, peer] = await join(server, port);
    client.end('later');
    let read = '';
    peer.on('data', (bytes: Buffer) => (read += bytes));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(read).toBe('');
    peer.resume();
    await once(peer, 'end');
    expect(read).toBe('later');
  });

  test('a reader that starts late gets every byte', async () => {
    const [client, peer] = await pair();
    client.end('early');
    await once(client, 'finish');
    await turn();
    expect(await textOf(peer)).toBe('early');
  });

  describe('onread', () => {
    /** A socket with `onread`, and its peer, which writes. */
    async function reading(
      buffer: Uint8Array | (() => Uint8Array),
      callback: (length: number, buffer: Uint8Array) => boolean,
    ): Promise<[Socket, Socket]> {
      const { server, port } = await serve();
      const accepted = once(server, 'connection');
      const client = open(port, { onread: { buffer, callback } });
      client.on('data', () => expect.fail('data was emitted'));
      const [peer] = await accepted;
      return [client, peer];
    }

    test('gets all bytes in its memory, and then the end', async () => {
      const bytes = Buffer.from(pattern(300_000));
      const memory = new Uint8Array(1000);
      const read: Buffer[] = [];
      const [client, peer] = await reading(memory, (length, buffer) => {
        expect(buffer).toBe(memory);
        read.push(Buffer.from(buffer.subarray(0, length)));
        return true;
      });
      peer.end(bytes);
      await once(client, 'end');
      expect(Buffer.concat(read).equals(bytes)).toBe(true);
      expect(client.bytesRead).toBe(bytes.length);
    });

    test('may have new memory each time', async () => {
      const memories: Uint8Array[] = [];
      const next = () => {
        memories.push(new Uint8Array(7));
        return memories.at(-1) as Uint8Array;
      };
      let text = '';
      const [client, peer] = await reading(next, (length, buffer) => {
        expect(memories).toContain(buffer);
        text += Buffer.from(buffer.subarray(0, length));
        return true;
      });
      peer.end('seven bytes at a time');
      await once(client, 'end');
      expect(text).toBe('seven bytes at a time');
      expect(memories.length).toBeGreaterThanOrEqual(3);
    });

    test.each(['false', 'pause()'])('%s stops it until resume()', async (how) => {
      let text = '';
      let stops = 0;
      const [client, peer]: Socket[] = await reading(new Uint8Array(4), (length, buffer) => {
        text += Buffer.from(buffer.subarray(0, length));
        stops += 1;
        const socket = client as Socket;
        if (how === 'pause()') socket.pause();
        expect(stops).toBe(1); // at a time
        setImmediate(() => {
          stops -= 1;
          socket.resume();
        });
        return how !== 'false';
      });
      (peer as Socket).end('one after the other');
      await once(client as Socket, 'end');
      expect(text).toBe('one after the other');
    });

    test('pause() and read() in it go on', async () => {
      let text = '';
      const [client, peer]: Socket[] = await reading(new Uint8Array(4), (length, buffer) => {
        text += Buffer.from(buffer.subarray(0, length));
        (client as Socket).pause();
        (client as Socket).read();
        return true;
      });
      (peer as Socket).end('four bytes at a time');
      await once(client as Socket, 'end');
      expect(text).toBe('four bytes at a time');
    });

    test('may destroy its socket', async () => {
      let calls = 0;
      const [client, peer]: Socket[] = await reading(new Uint8Array(4), () => {
        calls += 1;
        (client as Socket).destroy();
        return true;
      });
      const closed = closeOf(client as Socket);
      (peer as Socket).write('more than four bytes');
      expect(await closed).toBe(false);
      expect(calls).toBe(1);
    });
  });
});

// node:net keeps the memory that it had.
test.each([
  ['is no Uint8Array', () => 'x', 'ERR_INVALID_ARG_TYPE'],
  ['is empty', () => new Uint8Array(0), 'ERR_INVALID_ARG_VALUE'],
  ['cannot be made', () => expect.fail('no memory'), undefined],
])('onread: memory that %s ends the socket, once', async (_what, second, code) => {
  const server = createServer({}, (socket) => {
    socket.on('error', () => {}).end('x'.repeat(1000));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  let calls = 0;
  const buffer = () => (++calls > 1 ? (second() as Uint8Array) : new Uint8Array(100));
  const { port } = Object(server.address());
  const socket = connect({ port, host: '127.0.0.1', onread: { buffer, callback: () => true } });
  const [error] = await once(socket, 'error');
  if (code) expect(error.code).toBe(code);
  await new Promise(setImmediate);
  expect([socket.destroyed, calls]).toEqual([true, 2]);
});
