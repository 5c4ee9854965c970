// Processes that connect to a waiting server by mistake, or hold connections without sending anything, do not delay
// the client.
import type { ChildProcess } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { casesOf, quick, slow } from '../support/cases.js';
import { start } from '../support/command.js';
import { freePort } from '../support/free-port.js';
import { runInHost } from '../support/host.js';
import { withSoftefa } from '../support/softefa.js';
import { closed, GARBAGE, stranger, strangers } from '../support/strangers.js';

const env = { ...withSoftefa(), LIBFABRIC_QUIET: '' };
const QUICK = ['a byte', 'a request of HTTP', 'an address and garbage', 'a frame of 2 GiB'];
const BRIEF = ['-S', '64', '-I', '10'];

// The command of each side, with the port of its out-of-band connection.
const COMMANDS: Readonly<Record<string, (port: number) => readonly string[]>> = {
  'rma-bw over shm': (port) => ['rma-bw', '-p', 'shm', `-E=${port}`, ...BRIEF],
  'rdm-pingpong over tcp': (port) => ['rdm-pingpong', '-p', 'tcp', `-b=${port}`, ...BRIEF],
  'rdm-bw over efa': (port) => ['rdm-bw', '-p', 'efa', `-E=${port}`, ...BRIEF],
  'dgram-pingpong over udp': (port) => ['dgram-pingpong', '-p', 'udp', `-b=${port}`, ...BRIEF],
  'rdm-tagged-bw over tcp of 2.6': (port) => [
    ...['rdm-tagged-bw', '-p', 'tcp', '--fabtests', '2.6', `-E=${port}`],
    ...BRIEF,
  ],
  'cq-data over tcp': (port) => ['cq-data', '-p', 'tcp', `-E=${port}`],
  'check over shm': (port) => ['check', '-p', 'shm', '--only', 'rdm', `-E=${port}`],
  'pingpong over tcp': (port) => [
    'pingpong',
    '-e',
    'rdm',
    '-p',
    'tcp',
    '-S',
    '64',
    '-B',
    `${port}`,
  ],
  'transfer over tcp': (port) => ['transfer', '-p', 'tcp', '-S', '64K', '-I', '3', `-E=${port}`],
  'transfer over efa': (port) => ['transfer', '-p', 'efa', '-S', '64K', '-I', '3', `-E=${port}`],
};

/** Resolves when a server has printed where it listens. */
async function listening({ stderr }: ChildProcess): Promise<void> {
  let output = '';
  for await (const text of stderr?.iterator({ destroyOnReturn: false }) ?? []) {
    output += text;
    if (/^Listening on .*\n.*\n/m.test(output)) break;
  }
  stderr?.resume();
}

async function serve(argsOf: (port: number) => readonly string[]) {
  const port = await freePort();
  const server = start(argsOf(port), env);
  await listening(server.child);
  const client = argsOf(port).map((word, i, all) => (all[i + 1] === `${port}` ? '-P' : word));
  return {
    port,
    ended: server.ended,
    client: () => runInHost('client', [...client, '127.0.0.1'], env),
  };
}

const QUICK_COMMANDS = [
  'rma-bw over shm',
  'rdm-bw over efa',
  'check over shm',
  'pingpong over tcp',
  'transfer over tcp',
];

describe.each(Object.entries(COMMANDS))('%s', (name, argsOf) => {
  test.runIf(QUICK_COMMANDS.includes(name) ? quick : slow)(
    'serves its client while strangers hold connections',
    async () => {
      const { port, ended, client } = await serve(argsOf);
      await strangers(port);
      expect(await client()).toMatchObject({ code: 0, stderr: '' });
      expect((await ended).code).toBe(0);
    },
  );

  const isQuick = (kind: string) => name === 'transfer over tcp' && QUICK.includes(kind);

  test.for(casesOf(Object.keys(GARBAGE), isQuick))(
    'serves its client after one that sends %s',
    async (kind) => {
      const { port, ended, client } = await serve(argsOf);
      await stranger(port, GARBAGE[kind]);
      expect(await client()).toMatchObject({ code: 0, stderr: '' });
      expect((await ended).code).toBe(0);
    },
  );
});

test('a server reports the first strangers, and that others are not reported', async () => {
  const { port, ended, client } = await serve(COMMANDS['transfer over tcp'] as never);
  for (let i = 0; i < 10; i++) {
    const socket = await stranger(port, GARBAGE['a request of HTTP']);
    await closed(socket);
  }
  await client();
  const lines = (await ended).stderr.split('\n').slice(2, -1);
  expect(lines).toHaveLength(8);
  for (const line of lines) {
    expect(line).toMatch(
      /^127\.0\.0\.1 is not the client, which may still come: it speaks another/,
    );
  }
  expect(lines.at(-1)).toMatch(/\(further ones are not reported\)$/);
});
