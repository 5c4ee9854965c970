// `libfabric transfer` when a NIC or a side is lost, or something else is at the other end.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { SoftefaFaults, softefaEnvironment } from 'libfabric/softefa';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BenchmarkResult } from '../../../dist/cli/shared/result.js';
import { casesOf, slow } from '../../support/cases.js';
import { type Started, start } from '../../support/command.js';
import { freePort } from '../../support/free-port.js';
import { ownNamespace } from '../../support/own-namespace.js';
import { runPair } from '../../support/sides.js';

/** Resolves when a process has printed something that matches. */
function printed({ child, ended }: Started, pattern: RegExp): Promise<void> {
  let text = '';
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (pattern.test(text)) resolve();
    });
    ended.then(({ stderr }) => reject(new Error(`it ended before: ${text}${stderr}`)));
  });
}

describe('efa with three NICs', () => {
  const namespace = ownNamespace('lost');
  const devices = (node: number) =>
    softefaEnvironment({ namespace, node, nics: 3, memlock: 'unlimited' });

  test('a NIC whose port is down has no part, and its line is at zero', async () => {
    const faults = new SoftefaFaults({ namespace });
    onTestFinished(() => faults.close());
    faults.add('portDown', { node: 1, nic: 1 });
    const args = ['transfer', '-p', 'efa', '-v', '-S', '8M', '-I', '5', '--json'];
    const both = { server: devices(0), client: devices(1) };
    const { server, client } = await runPair([...args, `-E=${await freePort()}`], both);
    expect(server.stderr + client.stderr).toBe('');
    const { rows }: BenchmarkResult = JSON.parse(client.stdout);
    const [{ rails = [], railTimeline } = {}] = rows;
    expect(rails.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(5 * 8 * 2 ** 20);
    const used = rails.map(({ bytes }) => bytes > 0); // a busy machine may use one of the others only
    expect(used).toHaveLength(3);
    expect(used[1]).toBe(false);
    const lines = railTimeline?.megabytesPerSecond ?? [];
    const drawn = lines.map((rates) => Math.max(...rates) > 0);
    expect(drawn[1]).toBe(false);
    // A NIC without a part may have carried copies of slices that arrived over another one first.
    expect(drawn).toEqual(used.map((each, i) => each || drawn[i]));
  });
});

const LONG = ['transfer', '-p', 'tcp', '--nics', '2', '-S', 'l:64K,16M', '-I', '2000'];

test.for(casesOf(['server', 'client'] as const, (dying) => dying === 'server'))(
  'the death of the %s ends the other',
  async (dying) => {
    const args = [...LONG, `-E=${await freePort()}`];
    const server = start(args);
    const client = start([...args, 'localhost']);
    const [lost, left] = dying === 'server' ? [server, client] : [client, server];
    await printed(left, /^64k/m);
    lost.child.kill('SIGKILL');
    const { code, stderr } = await left.ended;
    expect(stderr).toMatch(/^the peer has ended: its connection closed without a reason\n$/);
    expect(code).toBe(1);
  },
);

if (slow)
  test('Ctrl-C at the client ends both, and the server says why', async () => {
    const args = [...LONG, `-E=${await freePort()}`];
    const server = start(args);
    const client = start([...args, 'localhost']);
    await printed(client, /^64k/m);
    client.child.kill('SIGINT');
    expect(await client.ended).toMatchObject({ code: 130, stderr: '' });
    expect(await server.ended).toMatchObject({
      code: 1,
      stderr: 'the peer has ended: interrupted\n',
    });
  });

test('sides with different providers end with exit code 2, and name both', async () => {
  const port = `-E=${await freePort()}`;
  const server = start(['transfer', '-p', 'tcp', port]);
  const client = start(['transfer', '-p', 'shm', port, 'localhost']);
  const [atServer, atClient] = await Promise.all([server.ended, client.ended]);
  expect(atServer.stderr).toMatch(/^both sides need the same -p: here tcp\S*, there shm\n$/);
  expect(atClient.stderr).toMatch(/^the peer has ended: both sides need the same -p/);
  expect([atServer.code, atClient.code]).toEqual([2, 1]);
});

test.each([
  ['another release', note({ kind: 'hello', protocol: 'libfabric transfer 9' }), 2, /same release/],
  ['no plan', note({ kind: 'hello', protocol: 'libfabric transfer 1' }), 2, /is not libfabric tr/],
  [
    'a plan that would need too much',
    note({
      kind: 'hello',
      protocol: 'libfabric transfer 1',
      provider: 'tcp',
      address: 'none',
      plan: { operation: 'write', sizes: [2 ** 50], warmUp: 0, verify: false },
    }),
    2,
    /Not from 1 to 1099511627776/,
  ],
])('a server ends if its client sends %s', async (_, bytes, status, message) => {
  const port = await freePort();
  const server = start(['transfer', '-p', 'tcp', `-E=${port}`]);
  await sendTo(port, bytes);
  const { code, stderr } = await server.ended;
  expect(stderr).toMatch(message);
  expect(code).toBe(status);
});

/** A message in its wire format. */
function note(content: object): Buffer {
  const text = Buffer.from(JSON.stringify({ note: content }));
  const header = Buffer.alloc(4);
  header.writeUInt32BE(text.length);
  return Buffer.concat([header, text]);
}

/** Connects as soon as a server listens, and sends bytes. */
async function sendTo(port: number, bytes: Uint8Array): Promise<void> {
  for (;;) {
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    try {
      await once(socket, 'connect');
      socket.write(bytes);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

test('a TCP port that is in use ends the server with exit code 2', async () => {
  const other = createServer().listen(0);
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const { code, stderr } = await start(['transfer', '-p', 'tcp', `-E=${port}`]).ended;
  expect(stderr).toMatch(/^TCP port \d+ is in use on this host; .* -E=PORT\n$/);
  expect(code).toBe(2);
});

if (slow)
  test('a client gives up if the program at the port does not answer', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    const args = ['transfer', '-p', 'tcp', `-E=${port}`, '--timeout', '1', '127.0.0.1'];
    const { code, stderr } = await start(args).ended;
    expect(stderr).toMatch(/^the peer has not answered for 6 s; .* give both sides -E=PORT\n$/);
    expect(code).toBe(1);
  });
