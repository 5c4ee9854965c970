// As in Node.js, what one event of a socket has scheduled, ticks and promises, runs before the next event of any socket.
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectFabric } from '../../dist/net/index.js';
import { casesOf } from '../support/cases.js';

const program = fileURLToPath(new URL('../programs/net-turns-server.mjs', import.meta.url));
const ROUNDS = 10;

const libraries = [
  ['node:net', {}],
  ['shm', { provider: 'shm' }],
  ['shm', { provider: 'shm', driver: 'loop' }],
  ['tcp', { provider: 'tcp', node: '127.0.0.1' }],
] as const;

describe.each(casesOf(libraries, ([name]) => name !== 'tcp'))('%s %j', (name, options) => {
  /** Sockets of a server that does this with each. */
  async function serve(how: string): Promise<() => Socket> {
    const worker = new Worker(program, { workerData: [name, how] });
    onTestFinished(() => void worker.terminate());
    const [port] = await once(worker, 'message');
    const place = { port, host: '127.0.0.1' };
    return () => {
      const isTcp = name === 'node:net';
      const socket = isTcp ? connectTcp(place) : connectFabric({ ...place, ...options });
      onTestFinished(() => void socket.destroy());
      return socket as Socket;
    };
  }

  /** Notes an event, and what it has scheduled. */
  const note = (log: string[], event: string) => () => {
    log.push(event);
    process.nextTick(() => log.push('tick'));
    Promise.resolve().then(() => log.push('promise'));
  };

  test('events of two sockets', async () => {
    const open = await serve('pairs');
    for (let i = 0; i < ROUNDS; i++) {
      const log: string[] = [];
      const sockets = [open(), open()];
      await Promise.all(
        sockets.map((socket) => {
          socket.on('data', note(log, 'data'));
          return once(socket, 'data');
        }),
      );
      await new Promise(setImmediate);
      expect(log).toEqual(['data', 'tick', 'promise', 'data', 'tick', 'promise']);
      for (const socket of sockets) socket.destroy();
    }
  });

  test.each(['dataEnd', 'dataReset'])('the last bytes, and what follows: %s', async (how) => {
    const open = await serve(how);
    for (let i = 0; i < ROUNDS; i++) {
      const log: string[] = [];
      const socket = open();
      socket.on('data', note(log, 'data')).on('end', () => log.push('end'));
      socket.on('error', () => log.push('error'));
      await new Promise((resolve) => socket.once('close', resolve));
      if (log[0] === 'error') continue; // over TCP, a reset overtakes bytes
      expect(log.slice(0, 3)).toEqual(['data', 'tick', 'promise']);
      expect(log.length).toBe(4); // 'end' or 'error'
    }
  });

  test("a program that waits for 'connect' has time for its listeners", async () => {
    const open = await serve('reset');
    for (let i = 0; i < ROUNDS; i++) {
      const socket = open();
      const connected = await once(socket, 'connect').catch(() => undefined);
      if (!connected) continue; // over TCP, the reset may come first
      socket.on('error', () => {});
      if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    }
  });
});
