import { expect, test } from 'vitest';
import { matrixLines } from '../../../../dist/cli/fabtests/multinode/matrix-table.js';
import type { MatrixResult } from '../../../../dist/cli/shared/result.js';

function matrix(
  ranks: number,
  value: (from: number, to: number) => number | null,
  metric: MatrixResult['metric'] = 'MB/s',
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
    ranks: indices.map((rank) => ({ rank, host: `node${rank >> 1}` })),
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
    'from 1    1010       -    1012  node0',
    'from 2    1020    1021       -  node1',
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
    'slow: rank 4 (node2) sends at 50 % and receives at 100 % of the median pair',
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
  expect(lines[1]).toBe('      1.00  7 (node3) to 9 (node4)');
  expect(lines.at(-1)).toBe(
    'slow pairs: 1, below 80 % of the median one, though their ranks are not',
  );
  expect(lines.length).toBeLessThan(20);
  expect(lines).toContain('pairs: min 1.00, median 1020, max 1039 MB/s');
});
