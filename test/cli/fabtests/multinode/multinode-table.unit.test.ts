import { describe, expect, test } from 'vitest';
import { placesOf } from '../../../../dist/cli/fabtests/multinode/host.js';
import { matrixLines } from '../../../../dist/cli/fabtests/multinode/matrix-table.js';
import type { MatrixResult } from '../../../../dist/cli/shared/result.js';
import { hostsOf, placeOf } from '../../../../dist/cli/shared/slow-ranks.js';

function matrix(
  ranks: number,
  value: (from: number, to: number) => number | null,
  metric: MatrixResult['metric'] = 'MB/s',
  ranksPerHost = 1,
): MatrixResult {
  const indices = Array.from({ length: ranks }, (_, i) => i);
  return {
    format: 'libfabric-result',
    version: 1,
    kind: 'matrix',
    command: 'pairwise',
    arguments: [],
    startedAt: '2026-01-01T00:00:00Z',
    software: { package: '', libfabric: '', node: '', kernel: '' },
    device: {
      provider: 'efa',
      fabric: '',
      domain: '',
      endpointType: 'FI_EP_RDM',
      protocol: '',
      software: false,
    },
    warnings: [],
    ranks: indices.map((rank) => ({ rank, host: `node${Math.floor(rank / ranksPerHost)}` })),
    size: 64,
    metric,
    values: indices.map((i) => indices.map((j) => (i === j ? null : value(i, j)))),
  };
}

test('three ranks: an aligned matrix with hosts, then minimum, median and maximum', () => {
  const lines = matrixLines(matrix(3, (i, j) => 1000 + i * 10 + j));
  expect(lines).toEqual([
    'MB/s      to 0    to 1    to 2  host',
    'from 0       -    1001    1002  node0',
    'from 1    1010       -    1012  node1',
    'from 2    1020    1021       -  node2',
    '',
    'pairs: min 1001, median 1011, max 1021 MB/s',
  ]);
});

test('sixteen ranks: all lines of the matrix have the same length up to the host', () => {
  const lines = matrixLines(matrix(16, (i, j) => 10 ** ((i + j) % 6)));
  const widths = lines.slice(0, 17).map((line) => line.lastIndexOf('  '));
  expect(new Set(widths).size).toBe(1);
  expect(lines[16]).toMatch(/^from 15 /);
});

test('a slow rank is reported with its host, but its pairs are not', () => {
  const lines = matrixLines(matrix(6, (i) => (i === 4 ? 500 : 1000)));
  expect(lines.filter((line) => line.startsWith('slow'))).toEqual([
    'slow: rank 4 (node4) sends at 50 % and receives at 100 % of the median pair',
  ]);
});

test('a slow pair is reported if its ranks are not slow', () => {
  const lines = matrixLines(matrix(6, (i, j) => (i === 1 && j === 2 ? 700 : 1000)));
  expect(lines.filter((line) => line.startsWith('slow'))).toEqual([
    'slow: 1 to 2, at 70 % of the median pair, though its ranks are not',
  ]);
});

test('for latency, long times are slow', () => {
  const lines = matrixLines(matrix(4, (i, j) => (i + j === 1 ? 40 : 10), 'us'));
  expect(lines.at(-1)).toBe('slow: 1 to 0, at 25 % of the median pair, though its ranks are not');
  expect(lines).toContain('pairs: min 10.0, median 10.0, max 40.0 us');
});

test('forty ranks: the slowest pairs with their hosts instead of the matrix', () => {
  const lines = matrixLines(matrix(40, (i, j) => (i === 7 && j === 9 ? 1 : 1000 + i)));
  expect(lines[0]).toBe('slowest of 1560 pairs, MB/s');
  expect(lines[1]).toBe('      1.00  7 (node7) to 9 (node9)');
  expect(lines.at(-1)).toBe(
    'slow pairs: 1, below 80 % of the median one, though their ranks are not',
  );
  expect(lines.length).toBeLessThan(20);
  expect(lines).toContain('pairs: min 1.00, median 1020, max 1039 MB/s');
});

describe('two ranks on each of three hosts', () => {
  const within = (i: number, j: number) => i >> 1 === j >> 1;
  const lines = (value: (i: number, j: number) => number, metric?: MatrixResult['metric']) =>
    matrixLines(matrix(6, value, metric, 2));

  test('pairs within a host and between hosts have a median each, and none is slow', () => {
    expect(lines((i, j) => (within(i, j) ? 20_000 : 5000)).slice(-2)).toEqual([
      'pairs within a host: min 20000, median 20000, max 20000 MB/s',
      'pairs between hosts: min 5000, median 5000, max 5000 MB/s',
    ]);
    const latency = lines((i, j) => (within(i, j) ? 1 : 15), 'us');
    expect(latency.filter((line) => line.startsWith('slow'))).toEqual([]);
  });

  test('a rank that is slow between hosts only is slow', () => {
    const found = lines((i, j) => (within(i, j) ? 20_000 : i === 4 ? 2000 : 5000));
    expect(found.filter((line) => line.startsWith('slow'))).toEqual([
      'slow: rank 4 (node2) sends at 40 % and receives at 100 % of the median of such pairs',
    ]);
  });

  test('a slow pair is compared with the pairs of the same place', () => {
    const found = lines((i, j) => (i === 0 && j === 1 ? 9000 : within(i, j) ? 20_000 : 5000));
    expect(found.at(-1)).toBe(
      'slow: 0 to 1, at 45 % of the median pair within a host, though its ranks are not',
    );
    const between = lines((i, j) => (i === 0 && j === 2 ? 2500 : within(i, j) ? 20_000 : 5000));
    expect(between.at(-1)).toBe(
      'slow: 0 to 2, at 50 % of the median pair between hosts, though its ranks are not',
    );
  });
});

describe('the place of a rank', () => {
  const boot = (name: string, id: string) => ({ name, id });

  test('is a host with its name', () => {
    expect(placesOf([boot('a', '1'), boot('b', '2'), boot('a', '1')])).toEqual([
      { host: 'a', machine: 0 },
      { host: 'b', machine: 1 },
      { host: 'a', machine: 0 },
    ]);
  });

  test('distinguishes hosts of the same name, and keeps containers of one host together', () => {
    const places = placesOf([boot('localhost', '1'), boot('localhost', '2'), boot('pod', '2')]);
    expect(places).toEqual([
      { host: 'localhost #0', machine: 0 },
      { host: 'localhost #1', machine: 1 },
      { host: 'pod', machine: 1 },
    ]);
    const ranks = places.map((place, rank) => ({ rank, ...place }));
    expect(hostsOf(ranks)).toBe(2);
    expect(placeOf(ranks[1]!, ranks[2]!)).toBe('within');
    expect(placeOf(ranks[0]!, ranks[1]!)).toBe('between');
  });

  test('follows from the names in results that have no more', () => {
    const ranks = ['a', 'a', 'b'].map((host, rank) => ({ rank, host }));
    expect(hostsOf(ranks)).toBe(2);
    expect(placeOf(ranks[0]!, ranks[1]!)).toBe('within');
    expect(placeOf(ranks[0]!, ranks[2]!)).toBe('between');
  });
});
