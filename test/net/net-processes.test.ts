// Sockets of libfabric/net between processes that end in different ways.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createServer, type FabricSocket } from '../../dist/net/index.js';
import { casesOf } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { withSoftefa } from '../support/softefa.js';

const program = fileURLToPath(new URL('../programs/net-client.mjs', import.meta.url));

const cases: [string, object][] = [
  ['over shm', { provider: 'shm' }],
  ['over shm, loop driver', { provider: 'shm', driver: 'loop' }],
  ['over efa', { provider: 'efa' }],
  ['without a fabric', {}],
];

describe.each(casesOf(cases, ([name]) => /loop|efa/.test(name)))('%s', (_name, options) => {
  async function start(how: string): Promise<{ child: ChildProcess; socket: FabricSocket }> {
    const server = createServer(options).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
    const { port } = server.address() as AddressInfo;
    const child = fork(program, [JSON.stringify(options), String(port), how], {
      execArgv: [],
      env: { ...process.env, ...withSoftefa() },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [socket] = await once(server, 'connection');
    onTestFinished(() => void socket.destroy());
    return { child, socket };
  }

  test('a client that is killed is ECONNRESET', async () => {
    const { child, socket } = await start('stays');
    await once(socket, 'data');
    const failed = once(socket, 'error');
    child.kill('SIGKILL');
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }]);
    expect(socket.destroyed).toBe(true);
  });

  test('what a client has written arrives, although its process ends at once', async () => {
    const { child, socket } = await start('exits');
    const read: Buffer[] = [];
    socket.on('data', (bytes) => read.push(bytes));
    await once(socket, 'end');
    expect(Buffer.concat(read).equals(Buffer.alloc(3_000_000, 'last'))).toBe(true);
    socket.end();
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
  });

  test('a socket that was unref()ed does not keep its process alive', async () => {
    const { child, socket } = await start('unref');
    socket.on('error', () => {}).resume();
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  });
});

describe.each([
  ['libfabric/net over shm', ['fabric', '{"provider":"shm"}']],
  ['libfabric/net without a fabric', ['fabric', '{}']],
  ['node:net', ['net', '{}']],
])('a process with %s', (_name, args) => {
  test('ends if nothing keeps it alive: no timeout, paused socket or server after unref()', async () => {
    await runCleanly('net-unref', args, { stdout: 'ends' });
  });

  test('ends although nobody ends a socket whose peer has ended', async () => {
    await runCleanly('net-unref', [...args, 'half-open'], { stdout: 'ends' });
  });

  test('stays alive after one ref() of a socket', async () => {
    await runCleanly('net-unref', [...args, 'ref'], { stdout: 'alive\nends' });
  });
});
