// A server prints where it listens and the command of its client. This command connects to the server.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { call } from '../../../support/call.js';
import { casesOf, slow } from '../../../support/cases.js';
import { start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { runInHost } from '../../../support/host.js';
import { withSoftefa } from '../../../support/softefa.js';

// The servers of the tier `quick`.
const QUICK = ['shm', 'efa', 'tcp, a transfer'];
const HOSTS = ['localhost', '127.0.0.1', hostname()];

// The commands of servers over each provider, with a port of each test.
const SERVERS: readonly (readonly [string, (port: number) => readonly string[]])[] = [
  ['tcp', (port) => ['rdm-pingpong', '-p', 'tcp', '-B', `${port}`, '-S', '64', '-I', '10']],
  ['udp', (port) => ['rdm-pingpong', '-p', 'udp', '-B', `${port}`, '-S', '64', '-I', '10']],
  ['shm', (port) => ['rma-bw', '-p', 'shm', `-E=${port}`, '-S', '64', '-I', '10']],
  ['efa', (port) => ['rdm-pingpong', '-p', 'efa', `-E=${port}`, '-S', '64', '-I', '10']],
  ['tcp, a functional check', (port) => ['cq-data', '-p', 'tcp', '-B', `${port}`]],
  ['tcp, a transfer', (port) => ['transfer', '-p', 'tcp', `-E=${port}`, '-S', '1M', '-I', '5']],
  ['udp, datagrams', (port) => ['dgram-pingpong', '-p', 'udp', `-b=${port}`, '-I', '10']],
];

const env = { ...withSoftefa(), LIBFABRIC_QUIET: '' };

/** Starts a server. `command` resolves to the client's command that the server prints. */
function startServer(args: readonly string[]) {
  const server = start(args, env);
  return { ...server, command: printedCommand(server.child) };
}

async function printedCommand(child: ChildProcess): Promise<readonly string[]> {
  let output = '';
  for await (const text of child.stderr?.iterator({ destroyOnReturn: false }) ?? []) {
    output += text;
    const [, place, command] = /^(Listening on .*)\n {2}npx libfabric (.*)\n/m.exec(output) ?? [];
    if (command === undefined) continue;
    child.stderr?.resume();
    expect(place).toMatch(/(port|name) \S+\. The client's command:$/);
    return command.split(' ');
  }
  throw new Error(`the server ended: ${output}`);
}

const PLACES = SERVERS.flatMap(([name, argsOf], index) =>
  HOSTS.map((host, i) => ({ name, argsOf, host, isQuick: i === index % HOSTS.length })),
);

test.for(casesOf(PLACES, ({ name, isQuick }) => isQuick && QUICK.includes(name)))(
  '$name: a client can connect to the server at $host',
  async ({ argsOf, host }) => {
    const server = startServer(argsOf(await freePort()));
    const command = await server.command;
    expect([hostname(), 'localhost']).toContain(command.at(-1));
    const client = runInHost('client', [...command.slice(0, -1), host], env);
    expect(await client).toMatchObject({ code: 0, stderr: '' });
    expect(await server.ended).toMatchObject({ code: 0 });
  },
);

// Servers at one address, whose client's command is complete.
const COMPLETE: readonly (readonly [string, (port: number) => readonly string[]])[] = [
  ['a port that the system chooses', () => ['rdm', '-p', 'tcp', '-s', '127.0.0.1', '-B', '0']],
  ['its own port in -P', (port) => ['rdm', '-p', 'tcp', '-s', '127.0.0.1', '-P', `${port}`]],
  [
    'a port in the same word as other options',
    (port) => ['rdm-pingpong', '-ptcp', '-s127.0.0.1', '-S64', '-I10', `-vlB${port}`],
  ],
  ['a name of shm', (port) => ['rdm', '-p', 'shm', '-s', `server-${port}`]],
  ['a name and a port of shm', (port) => ['rdm', '-p', 'shm', '-s', `server-${port}`, '-B', '77']],
  [
    'two ports',
    (port) => ['dgram-pingpong', '-p', 'udp', '-s', '127.0.0.1', '-B', `${port}`, '-I', '10'],
  ],
  ['the port of fi_pingpong', (port) => ['pingpong', '-p', 'tcp', '-e', 'rdm', '-B', `${port}`]],
];
const QUICK_COMPLETE = ['a port in the same word as other options', 'a name of shm'];

test.for(casesOf(COMPLETE, ([name]) => QUICK_COMPLETE.includes(name)))(
  "with %s, the client's command reaches the server",
  async ([, argsOf]) => {
    const server = startServer(argsOf(await freePort()));
    const client = runInHost('client', await server.command, env);
    expect(await client).toMatchObject({ code: 0, stderr: '' });
    expect(await server.ended).toMatchObject({ code: 0 });
  },
);

if (slow)
  test('checks that check starts print no command', async () => {
    const args = ['check', '-p', 'shm', '--only', 'rdm,cq-data', `-E=${await freePort()}`];
    const server = startServer(args);
    const client = start([...args, 'localhost'], env);
    expect(await client.ended).toMatchObject({ code: 0, stderr: '' });
    expect((await server.ended).stderr.match(/Listening/g)).toEqual(['Listening']);
  });

test("a client without a server fails, and the error names the options for the server's address", async () => {
  const common = ['rdm-pingpong', '-p', 'tcp', '-P', `${await freePort()}`, '--timeout', '1'];
  const { code, stderr } = await start([...common, 'localhost']).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^no server answers at localhost, port \d+: .*\(-s\).* -E /);
});

const UNRESOLVED = [
  ['rdm-pingpong', '-p', 'tcp'],
  ['rdm', '-p', 'tcp'],
  ['rma-bw', '-p', 'efa'],
  ['pingpong', '-e', 'rdm', '-p', 'tcp'],
  ['check', '-p', 'tcp'],
  ['transfer', '-p', 'tcp'],
];

test.for(casesOf(UNRESOLVED, ([name]) => name === 'rdm-pingpong' || name === 'transfer'))(
  '%s reports a host name that cannot be resolved',
  async (args) => {
    const { status, stderr } = await call(...args, 'no-such-host.invalid');
    expect(stderr).toMatch(/^the host name no-such-host\.invalid cannot be resolved \(E\w+\)\n$/);
    expect(status).toBe(1);
  },
);

describe('a TCP port that is in use', async () => {
  const usedPort = async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return (server.address() as { port: number }).port;
  };

  test('ends check with exit status 2, and the message names -E', async () => {
    const { code, stderr } = await start(['check', '-p', 'tcp', `-E=${await usedPort()}`]).ended;
    expect(stderr).toMatch(/^TCP port \d+ is in use on this host; .* -E=PORT\n$/);
    expect(code).toBe(2);
  });

  test('makes a client of check name -E if the program there does not answer', async () => {
    const args = ['check', '-p', 'tcp', `-E=${await usedPort()}`, '--timeout', '1', '127.0.0.1'];
    const { code, stderr } = await start(args).ended;
    expect(stderr).toMatch(/^the peer has not answered for 1 s; .* give both sides -E=PORT\n$/);
    expect(code).toBe(1);
  });

  test('ends a benchmark, and the message names its option', async () => {
    const tcp = await start(['rdm-pingpong', '-p', 'tcp', '-B', `${await usedPort()}`]).ended;
    expect(tcp.stderr).toMatch(/^FI_EADDRINUSE: .* \(port \d+\); .* -B PORT here, -P PORT/);
    const oob = await start(['pingpong', '-p', 'tcp', '-B', `${await usedPort()}`]).ended;
    expect(oob.stderr).toMatch(
      /^TCP port \d+ is in use .*: -B PORT here, -P PORT at the client\n$/,
    );
    expect([tcp.code, oob.code]).toEqual([1, 1]);
  });
});
