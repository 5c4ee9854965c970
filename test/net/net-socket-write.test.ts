// What sockets of libfabric/net write: as those of node:net. Each test runs over both.
import { once } from 'node:events';
import { finished } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/bytes.js';
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

describe.each(casesOf(libraries, isQuick))('%s', (_name, { pair }) => {
  test('callbacks are called once each, in the order of the writes', async () => {
    const [client, peer] = await pair();
    const called: number[] = [];
    for (let i = 0; i < 20; i++) {
      client.write(Buffer.alloc(i % 3 === 0 ? 0 : 50_000 * (i % 5), i), () => called.push(i));
    }
    client.end();
    const text = await textOf(peer);
    expect(text.length).toBe(client.bytesWritten);
    expect(called).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test('strings travel in their encoding', async () => {
    const [client, peer] = await pair();
    client.write('äö', 'latin1');
    client.write('e4f6', 'hex');
    client.write('5PY=', 'base64');
    client.setDefaultEncoding('latin1');
    client.write('äö');
    client.end('äö', 'utf16le');
    peer.setEncoding('hex');
    let read = '';
    for await (const text of peer) read += text;
    expect(read).toBe('e4f6e4f6e4f6e4f6e400f600');
  });

  test('a wrong argument is thrown, and the socket stays usable', async () => {
    const [client, peer] = await pair();
    const code = (chunk: unknown) => {
      try {
        client.write(chunk as string);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code;
      }
    };
    expect(code(null)).toBe('ERR_STREAM_NULL_VALUES');
    for (const chunk of [undefined, 1, 1n, true, [], {}, () => {}, Symbol('x')]) {
      expect(code(chunk)).toBe('ERR_INVALID_ARG_TYPE');
    }
    expect(() => client.write('x', 'no encoding' as 'hex')).toThrow(TypeError);
    client.end('ok');
    expect(await textOf(peer)).toBe('ok');
  });

  test('cork() and uncork() send everything once', async () => {
    const [client, peer] = await pair();
    client.cork();
    for (let i = 0; i < 100; i++) client.write(`${i},`);
    client.uncork();
    client.end();
    expect(await textOf(peer)).toBe(Array.from({ length: 100 }, (_, i) => `${i},`).join(''));
  });

  test('write() says when to wait, and drain when to go on', async () => {
    const [client, peer] = await pair();
    peer.pause();
    const chunk = Buffer.alloc(1_000_000, 'x');
    while (client.write(chunk) || client.writableLength < chunk.length) await turn();
    expect(client.writableNeedDrain).toBe(true);
    const drained = once(client, 'drain');
    const read = textOf(peer.resume());
    await drained;
    expect([client.writableNeedDrain, client.writableLength]).toEqual([false, 0]);
    client.end();
    expect((await read).length).toBe(client.bytesWritten);
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

  test('bytesWritten counts large writes at once', async () => {
    const [client, peer] = await pair();
    const bytes = Buffer.alloc(3_000_000, 'x');
    client.write(bytes);
    expect(client.bytesWritten).toBe(3_000_000);
    client.write(bytes.toString());
    client.cork();
    client.write('y');
    expect(client.bytesWritten).toBe(6_000_001);
    client.end();
    await Promise.all([textOf(peer), closeOf(client)]);
    expect([client.bytesWritten, peer.bytesRead]).toEqual([6_000_001, 6_000_001]);
  });

  test('the bytes of a write may change after its callback, and need no reference before', async () => {
    const [client, peer] = await pair();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const read = textOf(peer);
    for (let i = 0; i < 20; i++) {
      client.write(Buffer.alloc(100_000, 'a'));
      collect();
    }
    const bytes = Buffer.alloc(100_000, 'a');
    client.write(bytes, () => bytes.fill('b'));
    client.end();
    expect(await read).toBe('a'.repeat(2_100_000));
  });

  test('two sides that answer each other 500 times', async () => {
    const [client, peer] = await pair();
    peer.on('data', (bytes) => {
      expect(bytes.toString()).toBe('PING');
      peer.write('PONG');
    });
    for (let i = 0; i < 500; i++) {
      client.write('PING');
      expect(String(await once(client, 'data'))).toBe('PONG');
    }
  });

  test('both sides write much at the same time', async () => {
    const sockets = await pair();
    const texts = [1, 2].map((seed) => Buffer.from(pattern(3_000_000, seed)).toString('latin1'));
    const read = await Promise.all(
      sockets.map((socket, i) => {
        socket.setEncoding('latin1').end(texts[i] as string, 'latin1');
        return textOf(socket);
      }),
    );
    expect(read.map((text, i) => text === texts[1 - i])).toEqual([true, true]);
  });

  test('a peer that goes away amid the bytes ends the writer', async () => {
    const [client, peer] = await pair();
    peer.once('data', () => peer.destroy());
    let closed = false;
    client.once('close', () => (closed = true));
    while (!closed) {
      const isFull = !client.write(Buffer.alloc(100_000));
      if (isFull && !closed)
        await Promise.race([once(client, 'drain').catch(() => {}), closeOf(client)]);
      await turn();
    }
    expect(client.destroyed).toBe(true);
  });

  test('a write to a peer that is gone fails', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    client.destroy();
    await once(peer.resume(), 'end');
    const timer = setInterval(() => peer.write('x'), 1);
    onTestFinished(() => clearInterval(timer));
    const [{ code }] = await once(peer, 'error');
    expect(code).toMatch(/^(ECONNRESET|EPIPE)$/);
  });

  test('a write to a peer that destroys its socket without an answer fails, once', async () => {
    const [client, peer] = await pair();
    const events = eventsOf(peer, 'error');
    const closing = closeOf(peer);
    client.destroy();
    const result = resultOf((done) => peer.write(Buffer.alloc(10_000_000), done));
    expect(await closing).toBe(true);
    expect(await result).toMatch(/^(ECONNRESET|EPIPE)$/);
    expect(events).toEqual(['error']);
  });

  test('a write that waits fails if it began after the end of a peer that is gone', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    client.destroy();
    await once(peer.resume(), 'end');
    const failed = once(peer, 'error');
    const result = resultOf((done) => peer.write(Buffer.alloc(20_000_000), done));
    const [{ code }] = await failed;
    expect(code).toMatch(/^(ECONNRESET|EPIPE)$/);
    expect(await result).toBe(code);
  });

  test('a write after the peer has ended both sides is EPIPE', async () => {
    const [client, peer] = await pair();
    const events = eventsOf(peer, 'error');
    client.end();
    await once(peer.resume(), 'finish');
    let isSynchronous = true;
    const result = resultOf((done) =>
      peer.write('x', (error) => {
        expect(isSynchronous).toBe(false);
        done(error);
      }),
    );
    isSynchronous = false;
    expect(await result).toBe('EPIPE');
    await turn();
    expect(events.length).toBeLessThan(2);
  });

  test('write() after end() fails with ERR_STREAM_WRITE_AFTER_END, after destroy() with ERR_STREAM_DESTROYED', async () => {
    const [client, peer] = await pair({ allowHalfOpen: true });
    const failed = once(client, 'error');
    client.end();
    const result = resultOf((done) => client.write('x', done));
    expect(await result).toBe('ERR_STREAM_WRITE_AFTER_END');
    expect(await failed).toMatchObject([{ code: 'ERR_STREAM_WRITE_AFTER_END' }]);
    peer.destroy();
    expect(await resultOf((done) => peer.write('x', done))).toBe('ERR_STREAM_DESTROYED');
  });

  test('destroy() in the middle of a write is a premature close', async () => {
    const [client, peer] = await pair();
    peer.pause();
    client.write(Buffer.alloc(30_000_000));
    await turn();
    const result = resultOf((done) => finished(client, done));
    client.destroy();
    expect(await result).toBe('ERR_STREAM_PREMATURE_CLOSE');
  });

  test('writes that wait when the socket is destroyed get an error each', async () => {
    const [client, peer] = await pair();
    peer.pause();
    const results: Promise<string | null>[] = [];
    while (client.writableLength < 2_000_000) {
      results.push(resultOf((done) => client.write(Buffer.alloc(500_000), done)));
      await turn();
    }
    client.destroy();
    const codes = await Promise.all(results);
    expect(codes.at(-1)).toMatch(/^ERR_STREAM_(DESTROYED|PREMATURE_CLOSE)$/);
  });
});
