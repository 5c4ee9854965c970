import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseResult } from '../../../../dist/cli/report/schema.js';
import type { MatrixResult } from '../../../../dist/cli/shared/result.js';
import { casesOf, slow } from '../../../support/cases.js';
import { start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { nodeVariables, startRanks } from '../../../support/ranks.js';

const folder = mkdtempSync(join(tmpdir(), 'ranks-'));
afterAll(() => rmSync(folder, { recursive: true }));

const LOOPBACK = { shm: ['-p', 'shm'], tcp: ['-p', 'tcp', '-s', '127.0.0.1'] } as const;

const matrixIn = (text: string) => parseResult(JSON.parse(text)) as MatrixResult;

/** Runs ranks on this machine to their end. Returns the result of rank 0. */
async function local(ranks: number, command: string, ...args: string[]): Promise<MatrixResult> {
  const { ended } = start([command, '--local', String(ranks), '--json', ...args]);
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return matrixIn(stdout);
}

/** Runs ranks that each act as a host, with software EFA devices. Returns the output of rank 0. */
async function onHosts(ranks: number, nics: number, ...args: string[]): Promise<string> {
  const root = `127.0.0.1:${await freePort()}`;
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  const started = startRanks(all, (rank) => ({
    args: [...args, '--rank', String(rank), '--ranks', String(ranks), '--root', root],
    env: nodeVariables(rank, nics),
  }));
  const ended = await Promise.all(started.map((one) => one.ended));
  for (const [rank, { code, stdout, stderr }] of ended.entries()) {
    expect({ rank, code, stderr }).toEqual({ rank, code: 0, stderr: '' });
    if (rank > 0) expect(stdout).toBe('');
  }
  return ended[0]?.stdout ?? '';
}

/** `nodes`: whether each rank is on a node of its own. */
function expectFull({ ranks, values }: MatrixResult, count: number, nodes = false): void {
  const placeOf = (rank: number) =>
    nodes
      ? { rank, host: `${hostname()} (node ${rank})`, machine: rank }
      : { rank, host: hostname(), machine: 0 };
  expect(ranks).toEqual(Array.from({ length: count }, (_, rank) => placeOf(rank)));
  for (const [i, row] of values.entries()) {
    for (const [j, value] of row.entries()) {
      if (i === j) expect(value).toBeNull();
      else expect(value).toBeGreaterThan(0);
    }
  }
}

describe.each(['shm', 'tcp'] as const)('over %s', (provider) => {
  const where = LOOPBACK[provider];
  const isQuickOn = (operation: string) => provider === (operation === 'write' ? 'shm' : undefined);
  const isQuickRead = (operation: string) => provider === 'tcp' && operation === 'read';

  test.for(casesOf(['write', 'read'], isQuickOn))(
    'all-to-all, %s: every pair has a verified figure',
    async (operation) => {
      const options = ['-o', operation, '-S', '16384', '--seconds', '0.2', '-v'];
      const result = await local(4, 'all-to-all', ...where, ...options);
      expectFull(result, 4);
      expect(result).toMatchObject({ metric: 'MB/s', operation, size: 16_384 });
      expect(result.device.provider).toContain(provider);
      const sum = result.values.flat().reduce((total: number, value) => total + (value ?? 0), 0);
      // The total is measured until the last rank ends, each pair until its own end.
      expect(result.totalMegabytesPerSecond).toBeLessThanOrEqual(sum * 1.01);
      expect(result.totalMegabytesPerSecond).toBeGreaterThan(0);
    },
  );

  test.for(casesOf(['write', 'read', 'send'], isQuickRead))(
    'pairwise, %s: verified',
    async (operation) => {
      const options = ['-o', operation, '-S', '5000', '-I', '100', '-W', '7', '-v'];
      const result = await local(3, 'pairwise', ...where, ...options);
      expectFull(result, 3);
      expect(result.options).toMatchObject({ window: 7, iterations: 100, verify: true });
    },
  );

  test.for(casesOf(['send', 'write', 'read'], isQuickOn))(
    'pairwise, latency of %s: verified',
    async (operation) => {
      const options = ['--metric', 'latency', '-o', operation, '-I', '50', '-v'];
      const result = await local(2, 'pairwise', ...where, ...options);
      expectFull(result, 2);
      expect(result).toMatchObject({ metric: 'us', size: 64 });
      // Latency of send is a round trip, which is equal in both directions.
      if (operation === 'send') expect(result.values[0]?.[1]).toBe(result.values[1]?.[0]);
    },
  );
});

if (slow)
  test('efa between five hosts, with concurrent disjoint pairs', async () => {
    const text = await onHosts(
      5,
      1,
      'pairwise',
      '--concurrent',
      '-S',
      '4096',
      '-I',
      '64',
      '-v',
      '--json',
    );
    const result = matrixIn(text);
    expectFull(result, 5, true);
    expect(result.device).toMatchObject({ provider: 'efa', software: true });
    expect(result.warnings.join()).toContain('in software');
  });

test('efa over all NICs of three hosts: the figures of the NICs add up to the total', async () => {
  const text = await onHosts(
    3,
    2,
    'all-to-all',
    '--nics',
    'all',
    '--seconds',
    '0.3',
    '-v',
    '--json',
  );
  const result = matrixIn(text);
  expectFull(result, 3, true);
  expect(result.nics?.map(({ name }) => name)).toEqual(['softefa_0', 'softefa_1']);
  const sum = result.nics?.reduce((total, nic) => total + nic.megabytesPerSecond, 0);
  expect(sum).toBeCloseTo(result.totalMegabytesPerSecond ?? 0, 3);
  for (const { megabytesPerSecond } of result.nics ?? [])
    expect(megabytesPerSecond).toBeGreaterThan(0);
});

if (slow)
  test('efa over named NICs, with messages', async () => {
    const options = [
      '-o',
      'send',
      '--nics',
      'softefa_2,softefa_0',
      '-S',
      '20000',
      '-I',
      '64',
      '-v',
    ];
    const result = matrixIn(await onHosts(2, 3, 'pairwise', ...options, '--json'));
    expectFull(result, 2, true);
    expect(result.nics?.map(({ name }) => name)).toEqual(['softefa_2', 'softefa_0']);
  });

if (slow)
  test('--json FILE also prints the table, and report accepts the file', async () => {
    const file = join(folder, 'pairs.json');
    const page = join(folder, 'pairs.html');
    const { ended } = start(['pairwise', '--local', '3', '-p', 'shm', '-I', '8', '--json', file]);
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^shm, 3 ranks on 1 host, pair by pair: write bandwidth/);
    expect(stdout).toMatch(/^from 2 +\d+/m);
    expect(matrixIn(readFileSync(file, 'utf8')).command).toBe('pairwise');
    const report = await start(['report', '-o', page, file]).ended;
    expect(report.code).toBe(0);
    expect(readFileSync(page, 'utf8')).toContain('3 ranks');
  });

test('ranks find each other by the variables of Open MPI, and rank 0 prints where it listens', async () => {
  const name = `-p shm -S 64 --seconds 0.1`.split(' ');
  const variables = (rank: number) => ({
    OMPI_COMM_WORLD_RANK: String(rank),
    OMPI_COMM_WORLD_SIZE: '2',
    OMPI_COMM_WORLD_LOCAL_SIZE: '2',
    PMIX_NAMESPACE: `job-${process.pid}`,
    LIBFABRIC_QUIET: '',
  });
  const [root, other] = startRanks([0, 1], (rank) => ({
    args: ['all-to-all', ...name],
    env: variables(rank),
  }));
  const rootEnded = await root?.ended;
  expect(rootEnded?.stderr).toMatch(
    /^rank 0 \(.+\): listening on 127\.0\.0\.1, TCP port \d+, for the other rank\n$/,
  );
  expect(rootEnded?.code).toBe(0);
  expect(await other?.ended).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

const openMpi = String(spawnSync('mpirun', ['--version']).stdout).includes('Open MPI');

test('mpirun can start the ranks', (context) => {
  context.skip(!openMpi, 'Open MPI is not installed');
  const main = new URL('../../../../dist/cli/main.js', import.meta.url).pathname;
  const options = ['--allow-run-as-root', '--oversubscribe', '-n', '3'];
  const command = [process.execPath, main, 'pairwise', '-p', 'shm', '-I', '8', '--json'];
  const { status, stdout, stderr } = spawnSync('mpirun', [...options, ...command], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expectFull(matrixIn(stdout), 3);
});
