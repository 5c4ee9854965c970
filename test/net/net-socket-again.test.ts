// Sockets that connect again, and listeners that throw: as in node:net. Each test runs over both.
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { closeOf, isQuick, libraries, textOf } from '../support/net-libraries.js';

/** Collects uncaught exceptions until the test ends. */
function uncaught(): string[] {
  const messages: string[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', ({ message }) => messages.push(message));
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of others) process.on('uncaughtException', listener);
  });
  return messages;
}

describe.each(casesOf(libraries, isQuick))('%s', (_name, { create, serve, open, pair }) => {
  test('a closed socket connects again, with new bytes and counts', async () => {
    const { port } = await serve({}, (socket) => void socket.pipe(socket));
    const client = open(port);
    for (const text of ['once', 'again', 'a third time']) {
      client.end(text);
      expect(await textOf(client.removeAllListeners('data'))).toBe(text);
      await closeOf(client); // it comes after 'end'
      expect([client.bytesRead, client.bytesWritten]).toEqual([text.length, text.length]);
      expect(client.connect(port, '127.0.0.1').connecting).toBe(true);
    }
  });

  test('a socket that failed to connect connects elsewhere', async () => {
    const { server, port } = await serve();
    const client = create().on('error', () => {});
    onTestFinished(() => void client.destroy());
    client.connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' });
    client.destroy(new Error('given up'));
    await closeOf(client);
    const accepted = once(server, 'connection');
    await new Promise<void>((resolve) => client.connect(port, '127.0.0.1', resolve));
    client.end('here');
    const [peer] = await accepted;
    expect(await textOf(peer)).toBe('here');
  });

  test("a 'data' listener that throws misses no later bytes, and no end", async () => {
    const messages = uncaught();
    const [client, peer] = await pair();
    let text = '';
    peer.on('data', (bytes) => {
      text += bytes;
      if (text.endsWith('b')) throw new Error('thrown by a listener');
    });
    const closed = closeOf(peer);
    for (const each of 'abc') {
      const arrived = new Promise((resolve) => peer.prependOnceListener('data', resolve));
      client.write(each);
      await arrived;
    }
    client.end();
    await closed;
    expect([text, messages]).toEqual(['abc', ['thrown by a listener']]);
  });

  test('an onread callback gets the socket, and memory for each read', async () => {
    const { server, port } = await serve();
    const accepted = once(server, 'connection');
    const memory = [Buffer.alloc(2), Buffer.alloc(2)];
    let asked = 0;
    let text = '';
    const client = open(port, {
      onread: {
        buffer: () => memory[asked++ % 2],
        callback(this: unknown, length: number, bytes: Buffer) {
          expect(this).toBe(client);
          text += bytes.toString('latin1', 0, length);
          return true;
        },
      },
    });
    const [peer] = await accepted;
    peer.end('abcdefg');
    await once(client, 'end');
    expect([text, asked]).toEqual(['abcdefg', 5]);
  });

  test.each([
    ['a text', '10', 'ERR_INVALID_ARG_TYPE'],
    ['a negative number', -1, 'ERR_OUT_OF_RANGE'],
    ['no number', Number.NaN, 'ERR_OUT_OF_RANGE'],
    ['an infinite number', Number.POSITIVE_INFINITY, 'ERR_OUT_OF_RANGE'],
  ])('setTimeout() refuses %s', async (_kind, value, code) => {
    const socket = create();
    expect(() => socket.setTimeout(value as number)).toThrow(expect.objectContaining({ code }));
    expect(() => socket.setTimeout(1, 5 as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }),
    );
  });

  test('listen({ signal }) closes the server, and a server that could not listen listens elsewhere', async () => {
    const { server, port } = await serve();
    const { server: second } = await serve();
    second.close();
    await once(second, 'close');
    for (let i = 0; i < 3; i += 1) {
      second.listen(port, '127.0.0.1');
      const [error] = await once(second, 'error');
      expect(error).toMatchObject({ code: 'EADDRINUSE' });
    }
    expect(second.listenerCount('close')).toBe(0);
    const abort = new AbortController();
    second.listen({ port: 0, host: '127.0.0.1', signal: abort.signal });
    await once(second, 'listening');
    const closed = once(second, 'close');
    abort.abort();
    await closed;
    expect([second.listening, server.listening]).toEqual([false, true]);
  });
});
