import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../../../dist/cli/shared/result.js';
import { softefaEnvironment } from '../../../../dist/softefa/index.js';
import { start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { ownNamespace } from '../../../support/own-namespace.js';
import { runPair } from '../../../support/sides.js';

const SETUPS = [
  { provider: 'tcp', both: {} },
  { provider: 'shm', both: {} },
  {
    provider: 'efa',
    both: {
      server: softefaEnvironment({ node: 1 }),
      client: softefaEnvironment({ node: 0 }),
    },
  },
] as const;

const SIZES = [1, 64, 5000, 100_000];
const COMMON = ['-S', `l:${SIZES}`, '-I', '100', '-W', '16', '--json'];

const COMMANDS: readonly (readonly string[])[] = [
  ['rma-bw'],
  ['rma-bw', '-o', 'read'],
  ['rma-bw', '-o', 'writedata', '-v'],
  ['rma-bw', '-v', '--fabtests', '2.6'],
  ['rma-bw', '-o', 'read', '-v', '--fabtests', '2.6'],
  ['rma-bw', '-o', 'writedata', '-v', '--fabtests', '2.6'],
  ['rma-bw', '-o', 'writedata', '-v', '--fabtests', '2.1', '-b'],
  ['rma-bw', '-v', '--use-fi-more', '-j', '0'],
  ['rma-bw', '-o', 'writedata', '-v', '--use-fi-more', '-w', '100'],
  ['rma-pingpong'],
  ['rma-pingpong', '-o', 'writedata', '-v'],
  ['rma-pingpong', '-o', 'read', '-v'],
  ['rma-tx-completion'],
  ['rma-tx-completion', '-o', 'writedata'],
  ['rdm-bw', '-v'],
  ['rdm-bw', '-v', '-b', '-j', '0'],
  ['rdm-tagged-bw', '-v', '-w', '100'],
  ['rdm-bw', '-v', '--use-fi-more', '-w', '100'],
  ['rdm-pingpong', '-v'],
  ['rdm-pingpong', '-v', '-r'],
  ['rdm-pingpong', '-v', '-w', '0', '-b', '-U'],
  ['rdm-tagged-pingpong', '-v'],
  ['rdm-cntr-pingpong', '-v'],
];

// Over tcp the sides find out the peer's release of fabtests, which takes 0.3 s. Over the others they are given it.
const { major, minor } = version();
const releaseOf = (provider: string, args: readonly string[]) =>
  provider === 'tcp' || args.includes('--fabtests') ? [] : ['--fabtests', `${major}.${minor}`];

// FI_OPT_EFA_EMULATED_READ
const reportsRdma = major > 1 || minor >= 18;

// Sets the out-of-band port: -E=PORT or -b=PORT.
const withPort = (args: readonly string[], port: number) =>
  args.includes('-b')
    ? args.map((arg) => (arg === '-b' ? `-b=${port}` : arg))
    : [...args, `-E=${port}`];

for (const { provider, both } of SETUPS) {
  describe(`over ${provider}`, () => {
    test.each(COMMANDS.map((args) => [args.join(' '), args] as const))('%s', async (_, args) => {
      const port = await freePort();
      const { server, client } = await runPair(
        [...withPort(args, port), '-p', provider, ...COMMON, ...releaseOf(provider, args)],
        both,
      );
      expect({ ...server, stdout: '' }).toEqual({ code: 0, signal: null, stdout: '', stderr: '' });
      expect({ ...client, stdout: '' }).toEqual({ code: 0, signal: null, stdout: '', stderr: '' });
      const result: BenchmarkResult = JSON.parse(client.stdout);
      expect(result).toMatchObject({ command: args[0], role: 'client' });
      expect(result.device.provider).toContain(provider);
      expect(result.device.rdma?.reads).toBe(
        provider === 'efa' && reportsRdma ? 'device' : undefined,
      );
      expect(result.rows.map(({ size }) => size)).toEqual(SIZES);
      for (const row of result.rows) {
        expect(row.iterations).toBe(100);
        expect(row.seconds).toBeGreaterThan(0);
        expect(row.cpu?.peer).toBeGreaterThan(0);
      }
    });
  });
}

test.each(['write', 'read'])('rma-bw over two NICs: %s', async (operation) => {
  const port = await freePort();
  const args = ['rma-bw', `-E=${port}`, '-p', 'efa', '-o', operation, '--nics', 'all', '--json'];
  const namespace = ownNamespace('nics');
  const { server, client } = await runPair([...args, '-S', '4096', '-I', '256'], {
    server: softefaEnvironment({ namespace, node: 1, nics: 2 }),
    client: softefaEnvironment({ namespace, node: 0, nics: 2 }),
  });
  expect([server.stderr, client.stderr]).toEqual(['', '']);
  for (const { stdout } of [server, client]) {
    const { rows }: BenchmarkResult = JSON.parse(stdout);
    expect(rows).toMatchObject([
      { size: 4096, iterations: 512, nics: [{ name: 'softefa_0' }, { name: 'softefa_1' }] },
    ]);
    const [row] = rows;
    const sum = row?.nics?.reduce((sum, nic) => sum + nic.megabytesPerSecond, 0) as number;
    expect(sum).toBeGreaterThanOrEqual((row?.megabytesPerSecond as number) * 0.999);
  }
});

test('--nics at only one side ends both sides with an error', async () => {
  const port = await freePort();
  const args = ['rma-bw', `-E=${port}`, '-p', 'efa', '-S', '64', '-I', '64'];
  const namespace = ownNamespace('one');
  const server = start(args, softefaEnvironment({ namespace, node: 1, nics: 2 }));
  const client = start(
    [...args, '--nics', 'all', '--timeout', '2', '127.0.0.1'],
    softefaEnvironment({ namespace, node: 0, nics: 2 }),
  );
  const [serverEnd, clientEnd] = await Promise.all([server.ended, client.ended]);
  expect([clientEnd.code, serverEnd.code]).toEqual([1, 1]);
  expect(clientEnd.stderr).toContain('--nics: 2 NICs here and 1 at the peer');
});

test('dgram-pingpong over udp and over efa', async () => {
  for (const [provider, both] of [
    ['udp', {}],
    ['efa', SETUPS[2].both],
  ] as const) {
    const port = await freePort();
    const args = ['dgram-pingpong', `-E=${port}`, '-p', provider, '-S', '512', '-I', '100', '-v'];
    const { server, client } = await runPair(args, both);
    expect([server.stderr, client.stderr]).toEqual(['', '']);
    expect(client.stdout).toMatch(/^bytes +iters .*\n512 +100 +100k /);
  }
});

test('pingpong over tcp, tagged and untagged', async () => {
  for (const mode of ['msg', 'tagged']) {
    const port = String(await freePort());
    const args = ['pingpong', '-p', 'tcp', '-e', 'rdm', '-m', mode, '-c', '-B', port, '-P', port];
    const { server, client } = await runPair(args);
    expect([server.stderr, client.stderr]).toEqual(['', '']);
    expect(client.stdout).toMatch(/^bytes +#sent +#ack .*\n64 +10 +=10 +1\.2k /);
  }
});

// A very long list of sizes: the benchmark prints its first rows and then runs on.
const ENDLESS = ['-p', 'tcp', '-S', 'r:1,1,1000000', '-I', '20'];

async function startRunning() {
  const port = await freePort();
  const args = ['rdm-pingpong', `-E=${port}`, ...ENDLESS];
  const server = start(args);
  const client = start([...args, '127.0.0.1']);
  await once(client.child.stdout as Readable, 'data');
  return { server, client };
}

test('a benchmark whose peer is killed fails within seconds', async () => {
  const { server, client } = await startRunning();
  const start = performance.now();
  server.child.kill('SIGKILL');
  const { code, stderr } = await client.ended;
  expect(performance.now() - start).toBeLessThan(10_000);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^(the peer has (ended|closed)|FI_E).*\n$/);
  await server.ended;
});

test('Ctrl-C ends both sides, and each has printed its results so far', async () => {
  const { server, client } = await startRunning();
  client.child.kill('SIGINT');
  const [clientEnd, serverEnd] = await Promise.all([client.ended, server.ended]);
  expect({ ...clientEnd, stdout: '' }).toEqual({ code: 130, signal: null, stdout: '', stderr: '' });
  expect(clientEnd.stdout).toMatch(/^bytes .*\n1 +20 +40 /);
  expect(serverEnd.code).toBe(1);
  expect(serverEnd.stderr).toContain('the peer has ended: interrupted');
  expect(serverEnd.stdout).toMatch(/^bytes .*\n1 +20 +40 /);
});
