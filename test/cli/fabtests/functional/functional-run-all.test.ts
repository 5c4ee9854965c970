// `libfabric check` runs all functional tests between a server and a client, even if one of them fails.
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { softefaEnvironment } from 'libfabric/softefa';
import { expect, test } from 'vitest';
import { call } from '../../../support/call.js';
import { casesOf, slow } from '../../../support/cases.js';
import { type Ended, start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { ownNamespace } from '../../../support/own-namespace.js';

const namespace = ownNamespace('check');

const nodeVariables = (node: number): NodeJS.ProcessEnv => ({
  ...process.env,
  ...softefaEnvironment({ namespace, node, memlock: 'unlimited' }),
});

/** Starts a server and a client. `more` has options for one of them. */
async function startSides(
  args: readonly string[],
  more: { readonly server?: readonly string[]; readonly client?: readonly string[] } = {},
  env: (node: number) => NodeJS.ProcessEnv = () => process.env,
) {
  const common = ['check', ...args, `-E=${await freePort()}`];
  const server = start([...common, ...(more.server ?? [])], env(0));
  const client = start([...common, ...(more.client ?? []), '127.0.0.1'], env(1));
  return { server, client, ended: Promise.all([server.ended, client.ended]) };
}

const run = async (...sides: Parameters<typeof startSides>) => (await startSides(...sides)).ended;

/** Returns the lines of a table as their columns. */
const rows = ({ stdout }: Ended) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/));

if (slow)
  test('every check passes over efa, and both sides print this', { timeout: 240_000 }, async () => {
    const [server, client] = await run(['-p', 'efa'], {}, nodeVariables);
    expect(server.stderr + client.stderr).toBe('');
    expect(client.stdout).toBe(server.stdout);
    const checks = rows(server).slice(0, -1);
    expect(checks.map(([name, outcome]) => [name, outcome])).toEqual(
      [
        ...[
          'rdm',
          'dgram',
          'cq-data',
          'multi-recv',
          'rdm-atomic',
          'rdm-tagged-peek',
          'recv-cancel',
        ],
        ...['unexpected-msg', 'av-xfer', 'multi-ep', 'rdm-multi-client', 'inject'],
      ].map((name) => [name, 'passed']),
    );
    expect(server.stdout).toContain('3 clients had a ping-pong');
    expect(server.stdout).toContain('messages were found by FI_PEEK');
    expect(rows(server).at(-1)).toEqual(['12 checks over efa: 12 passed, 0 failed, 0 skipped']);
    expect([server.code, client.code]).toEqual([0, 0]);
  });

test('a check that the provider does not offer is skipped with the reason', async () => {
  const [server, client] = await run(['-p', 'tcp', '--only', 'dgram,rdm'], { client: ['--json'] });
  expect(rows(server)).toEqual([
    ['rdm', 'passed', 'a message of 19 bytes arrived as it was sent'],
    ['dgram', 'skipped', expect.stringContaining('no FI_EP_DGRAM endpoint with FI_MSG on tcp')],
    ['2 checks over tcp;ofi_rxm: 1 passed, 0 failed, 1 skipped'],
  ]);
  expect([server.code, client.code]).toEqual([0, 0]);
  expect(JSON.parse(client.stdout)).toMatchObject({
    provider: 'tcp;ofi_rxm',
    passed: 1,
    failed: 0,
    skipped: 1,
    checks: [
      {
        name: 'rdm',
        outcome: 'passed',
        server: { role: 'server', passed: true },
        client: { role: 'client', passed: true },
      },
      { name: 'dgram', outcome: 'skipped', server: { offered: false } },
    ],
  });
});

if (slow)
  test('only checks that both sides select are run', async () => {
    const [server, client] = await run(['-p', 'tcp'], {
      server: ['--only', 'rdm,inject,multi-ep'],
      client: ['--skip', 'rdm'],
    });
    expect(rows(server).map(([name]) => name)).toEqual([
      'multi-ep',
      'inject',
      expect.stringContaining('2 checks'),
    ]);
    expect(client.stdout).toBe(server.stdout);
  });

/** Waits for the process of a check: a forked child first has the command line of its parent. */
async function checkProcessOf({ pid }: ChildProcess): Promise<number> {
  const commandOf = (process: string) => readFileSync(`/proc/${process}/cmdline`, 'utf8');
  for (;;) {
    const [check] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    if (check && commandOf(check) !== commandOf(String(pid))) return Number(check);
    await new Promise(setImmediate);
  }
}

const failing = [
  ['crashes', 'SIGSEGV', 'server: it was ended by SIGSEGV'],
  ['hangs', 'SIGSTOP', 'client: '],
] as const;

test.for(casesOf(failing, ([how]) => how === 'crashes'))(
  'a check that %s fails, and the next one passes',
  { timeout: 120_000 },
  async ([_, signal, reason]) => {
    const args = ['-p', 'tcp', '--only', 'rdm,cq-data'];
    const { server, ended } = await startSides(args);
    process.kill(await checkProcessOf(server.child), signal);
    const [one, other] = await ended;
    expect(rows(one)).toEqual([
      ['rdm', 'failed', expect.stringContaining(reason)],
      ['cq-data', 'passed', expect.stringContaining('remote CQ data arrived')],
      ['2 checks over tcp;ofi_rxm: 1 passed, 1 failed, 0 skipped'],
    ]);
    expect(other.stdout).toBe(one.stdout);
    expect([one.code, other.code]).toEqual([1, 1]);
  },
);

test.for(casesOf(['server', 'client'] as const, (which) => which === 'client'))(
  'Ctrl-C at the %s ends both sides',
  async (which) => {
    const sides = await startSides(['-p', 'tcp', '--only', 'unexpected-msg']);
    const checks = await Promise.all([
      checkProcessOf(sides.server.child),
      checkProcessOf(sides.client.child),
    ]);
    sides[which].child.kill('SIGINT');
    const [server, client] = await sides.ended;
    const [own, other] = which === 'server' ? [server, client] : [client, server];
    expect(own).toMatchObject({ code: 130, stdout: '', stderr: '' });
    expect(other).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr: 'the peer has ended: interrupted\n',
    });
    for (const pid of checks) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  },
);

if (slow)
  test('a server that waits for its client ends with Ctrl-C', async () => {
    const port = await freePort();
    const { child, ended } = start(['check', `-E=${port}`]);
    for (let listening = false; !listening; ) {
      const table = readFileSync('/proc/net/tcp6', 'utf8') + readFileSync('/proc/net/tcp', 'utf8');
      listening = table.includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} `);
      await new Promise(setImmediate);
    }
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 130, signal: null, stdout: '', stderr: '' });
  });

test('both sides report different providers', async () => {
  const ended = await run([], { server: ['-p', 'shm'], client: ['-p', 'tcp'] });
  const [server, client] = ended.map(({ stderr }) => stderr);
  const difference = (own: string, other: string) =>
    new RegExp(`both sides need the same -p, -f, -b and -E: here -p ${own} .*, there -p ${other} `);
  expect(server).toMatch(difference('shm', 'tcp'));
  expect(client).toMatch(difference('tcp', 'shm'));
  expect(ended.map(({ code }) => code)).toEqual([2, 2]);
});

test('both sides report that they have no check in common', async () => {
  const ended = await run([], { server: ['--only', 'rdm'], client: ['--skip', 'rdm'] });
  for (const { code, stderr } of ended) {
    expect(stderr).toBe('--only and --skip of the two sides exclude every check\n');
    expect(code).toBe(2);
  }
});

test.each([
  [['--only', 'rdm,nothing'], 'There is no check nothing; there are rdm, dgram,'],
  [['--no-such-option'], "unknown option '--no-such-option'"],
  [['-E=0'], 'It must be a whole number from 1 to 65535.'],
])('%j is refused with the reason', async (args, reason) => {
  const { status, stderr } = await call('check', ...args);
  expect(stderr).toContain(reason);
  expect(status).toBe(2);
});
