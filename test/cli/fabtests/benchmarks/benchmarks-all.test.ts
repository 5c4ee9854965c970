import { version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../../../dist/cli/shared/result.js';
import { softefaEnvironment } from '../../../../dist/softefa/index.js';
import { casesOf, quick } from '../../../support/cases.js';
import { freePort } from '../../../support/free-port.js';
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

// Quick: the first form of each command, over one of the providers, in turn.
const FIRST = COMMANDS.filter(([name], i) => COMMANDS.findIndex(([other]) => other === name) === i);

for (const [index, { provider, both }] of SETUPS.entries()) {
  const commands = casesOf(COMMANDS, (each) => FIRST.indexOf(each) % SETUPS.length === index);
  describe(`over ${provider}`, () => {
    test.each(commands.map((args) => [args.join(' '), args] as const))('%s', async (_, args) => {
      const port = await freePort();
      const { server, client } = await runPair(
        [...withPort(args, port), '-p', provider, ...COMMON, ...releaseOf(provider, args)],
        both,
      );
      expect({ ...server, stdout: '' }).toEqual({
        code: 0,
        signal: null,
        stdout: '',
        stderr: '',
      });
      expect({ ...client, stdout: '' }).toEqual({
        code: 0,
        signal: null,
        stdout: '',
        stderr: '',
      });
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

test.runIf(quick)('dgram-pingpong over udp and over efa', async () => {
  for (const [provider, both] of [
    ['udp', {}],
    ['efa', SETUPS[2].both],
  ] as const) {
    const port = await freePort();
    const args = ['dgram-pingpong', `-E=${port}`, '-p', provider, '-S', '512', '-I', '100', '-v'];
    const { server, client } = await runPair(args, both);
    expect(server.stderr + client.stderr).toBe('');
    expect(client.stdout).toMatch(/^bytes +iters .*\n512 +100 +100k /);
  }
});

test.runIf(quick)('pingpong over tcp, tagged and untagged', async () => {
  for (const mode of ['msg', 'tagged']) {
    const port = String(await freePort());
    const args = ['pingpong', '-p', 'tcp', '-e', 'rdm', '-m', mode, '-c', '-B', port, '-P', port];
    const { server, client } = await runPair(args);
    expect(server.stderr + client.stderr).toBe('');
    expect(client.stdout).toMatch(/^bytes +#sent +#ack .*\n64 +10 +=10 +1\.2k /);
  }
});
