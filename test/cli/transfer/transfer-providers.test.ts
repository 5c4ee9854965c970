// `libfabric transfer` between two processes, over each provider.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { softefaEnvironment } from 'libfabric/softefa';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BenchmarkResult, RailTimeline } from '../../../dist/cli/shared/result.js';
import { casesOf } from '../../support/cases.js';
import { start } from '../../support/command.js';
import { freePort } from '../../support/free-port.js';
import { ownNamespace } from '../../support/own-namespace.js';
import { ReportFolder, rowsOf, sectionOf } from '../../support/report.js';
import { runPair, type Sides, sides } from '../../support/sides.js';

const namespace = ownNamespace('transfer');
const efa = (node: number) =>
  softefaEnvironment({ namespace, node, nics: 3, asynchronous: true, memlock: 'unlimited' });

const SETUPS = [
  { name: 'shm', args: ['-p', 'shm'], rails: ['shm'], both: {} },
  { name: 'tcp', args: ['-p', 'tcp', '--nics', '2'], rails: ['lo (1)', 'lo (2)'], both: {} },
  {
    name: 'efa, all NICs',
    args: ['-p', 'efa'],
    rails: ['softefa_0', 'softefa_1', 'softefa_2'],
    both: { server: efa(0), client: efa(1) },
  },
  {
    name: 'efa, named NICs',
    args: ['-p', 'efa', '--nics', 'softefa_2,softefa_0-rdm'],
    rails: ['softefa_2', 'softefa_0'],
    both: { server: efa(0), client: efa(1) },
  },
] as const;

const MODES = [
  '-v',
  '-v --read',
  '-v --pages 4000',
  '-v --pages 1000 --read',
  '--slice 64K --window 1M --stall 500 --threads 1',
];

// Multiples of both page sizes.
const SIZES = [64_000, 512_000];

const SUCCESS = { code: 0, signal: null, stdout: '', stderr: '' };

describe.each(SETUPS)('$name', ({ name, args, rails, both }) => {
  const modes = name === 'efa, named NICs' ? MODES.slice(0, 1) : MODES;
  const isQuick = (mode: string) =>
    mode === MODES[0] || (name === 'efa, all NICs' && mode !== MODES[1] && mode !== MODES[2]);
  test.for(casesOf(modes, isQuick))('%s', async (mode) => {
    const given = mode.split(' ');
    const all = ['transfer', ...args, ...given, '-S', `l:${SIZES}`, '-I', '5', '--json'];
    const { server, client } = await runPair([...all, `-E=${await freePort()}`], both);
    expect([
      { ...server, stdout: '' },
      { ...client, stdout: '' },
    ]).toEqual([SUCCESS, SUCCESS]);
    const [atServer, atClient] = [server, client].map(
      ({ stdout }): BenchmarkResult => JSON.parse(stdout),
    ) as [BenchmarkResult, BenchmarkResult];
    expect(atClient).toMatchObject({
      command: 'transfer',
      role: 'client',
      operation: given.includes('--read') ? 'read' : 'write',
      options: { verify: given.includes('-v') },
      warnings: args.includes('tcp' as never) ? [] : [expect.any(String)],
    });
    expect(atClient.device.provider).toContain(args[1]);
    const rowsAtServer = atClient.rows.map((row) => ({
      ...row,
      cpu: { own: row.cpu?.peer, peer: row.cpu?.own },
    }));
    expect(atServer).toMatchObject({ role: 'server', rows: rowsAtServer });
    expect(atClient.rows.map(({ size }) => size)).toEqual(SIZES);
    for (const row of atClient.rows) {
      expect(row.iterations).toBe(5);
      expect(row.megabytesPerSecond).toBeCloseTo((5 * row.size) / row.seconds / 1e6);
      expect(row.slices?.p99).toBeGreaterThanOrEqual(row.slices?.p50 as number);
      expect(row.cpu?.peer).toBeGreaterThan(0);
      expect(row.rails?.map(({ name }) => name)).toEqual(rails);
      expect(row.rails?.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(5 * row.size);
      expect(row.rails?.every(({ failures }) => failures === 0)).toBe(true);
      expect(bytesIn(row.railTimeline as RailTimeline)).toBeGreaterThan(0.98 * 5 * row.size);
    }
  });
});

/** The bytes under the lines of a timeline. */
function bytesIn({ milliseconds, megabytesPerSecond }: RailTimeline): number {
  const lengthOf = (i: number) => (milliseconds[i] ?? 0) - (milliseconds[i - 1] ?? 0);
  const bytes = megabytesPerSecond.flatMap((rates) =>
    rates.map((rate, i) => rate * 1000 * lengthOf(i)),
  );
  return bytes.reduce((sum, each) => sum + each, 0);
}

const succeeded = ({ server, client }: Sides) => {
  expect([server.stderr, client.stderr, server.code, client.code]).toEqual(['', '', 0, 0]);
};

test('--slice decides the bytes of a slice', async () => {
  const args = ['-p', 'shm', '-S', '1M', '-I', '2', '--slice', '128K', '--json'];
  const both = await sides('transfer', args);
  succeeded(both);
  const { rows }: BenchmarkResult = JSON.parse(both.client.stdout);
  expect(rows[0]?.rails).toMatchObject([{ slices: 16 }]);
});

test('the client decides what is measured, whatever the options of the server', async () => {
  const port = `-E=${await freePort()}`;
  const [server, client] = await pairOf(
    ['transfer', '-p', 'shm', port, '-S', '1G', '--read'],
    ['transfer', '-p', 'shm', port, '-S', '64K', '-I', '3', '-v', 'localhost'],
  );
  expect([server.code, client.code]).toEqual([0, 0]);
  expect(server.stdout).toBe(client.stdout);
  expect(client.stdout).toMatch(/^bytes .*GB\/sec.*\n64k +3 +192k .*\n$/);
});

test('--stats prints a row for each rail, whose shares are 100 % together', async () => {
  const both = await sides('transfer', [
    '-p',
    'tcp',
    '--nics',
    '2',
    '-S',
    '8M',
    '-I',
    '5',
    '--stats',
  ]);
  succeeded(both);
  expect(both.server.stdout).toBe(both.client.stdout);
  const shares = [...both.client.stdout.matchAll(/^ {2}lo \(\d\) +([\d.]+) %(?: +\d+){5}$/gm)];
  expect(shares).toHaveLength(2);
  expect(shares.reduce((sum, [, share]) => sum + Number(share), 0)).toBeCloseTo(100, 0);
  expect(both.client.stdout).toMatch(/^ {2}cores: client \d+\.\d\d, server \d+\.\d\d$/m);
});

test('--report writes a page with a line for each rail, as report does from --json', async () => {
  const folder = new ReportFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'page.html');
  const args = ['transfer', '-p', 'tcp', '--nics', '2', `-E=${await freePort()}`];
  const [server, client] = await pairOf(args, [
    ...args,
    ...['-S', 'l:1M,8M', '-I', '5', '--json', '--report', file, 'localhost'],
  ]);
  expect(server.stderr + client.stderr).toBe('');
  const section = sectionOf(readFileSync(file, 'utf8'), 'Rails over time') as string;
  expect(section.match(/<figcaption>\w+ bytes per transfer/g)).toHaveLength(2);
  const lines = section.match(/<g aria-label="line"[^>]*stroke="var\(--(ink|series-[12])\)/g);
  expect(new Set(lines).size).toBe(3);
  expect(rowsOf(section).map(([size, rail]) => [size, rail])).toEqual([
    ['bytes', 'rail'],
    ...['1m', '8m'].flatMap((size) => [
      [size, 'lo (1)'],
      [size, 'lo (2)'],
    ]),
  ]);
  expect(sectionOf(await folder.page(JSON.parse(client.stdout)), 'Rails over time')).toBe(section);
});

async function pairOf(server: readonly string[], client: readonly string[]) {
  return Promise.all([start(server).ended, start(client).ended]);
}
