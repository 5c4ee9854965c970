import type { BenchmarkResult, BenchmarkRow, MatrixResult } from '../../src/cli/shared/result.js';

const header = {
  format: 'libfabric-result',
  version: 1,
  arguments: ['--size', 'all', '192.0.2.7'],
  startedAt: '2026-03-04T05:06:07.000Z',
  software: { package: '0.1.0', libfabric: '2.1.0', node: 'v22.1.0', kernel: '6.1.0' },
  device: {
    provider: 'efa',
    fabric: 'efa',
    domain: 'rdmap0s6-rdm',
    endpointType: 'FI_EP_RDM',
    protocol: 'FI_PROTO_EFA',
    software: false,
  },
  warnings: [],
} as const;

/** Returns a row of a transfer's size and time, and the figures that follow from them. */
export function rowOf(size: number, microseconds: number, more: Partial<BenchmarkRow> = {}) {
  return {
    size,
    iterations: 1000,
    transfersPerIteration: 1,
    seconds: microseconds / 1000,
    megabytesPerSecond: size / microseconds,
    microsecondsPerTransfer: microseconds,
    ...more,
  } satisfies BenchmarkRow;
}

/** Returns a row with all optional members. */
export function fullRow(size: number, microseconds: number): BenchmarkRow {
  const rate = size / microseconds;
  return rowOf(size, microseconds, {
    latency: { p50: microseconds, p99: microseconds * 2, p999: microseconds * 5, max: 900 },
    bandwidthSlices: [rate, rate * 0.9, rate * 1.1, rate],
    cpu: { own: 0.75, peer: 0.25 },
    nics: [
      { name: 'rdmap0s6', megabytesPerSecond: rate * 0.6 },
      { name: 'rdmap0s7', megabytesPerSecond: rate * 0.4 },
    ],
    counters: { tx_bytes: size * 1000, rx_drops: 0 },
  });
}

/** Returns a row of a transfer over two rails. The second one is lost in the third of four intervals. */
export function transferRow(size: number): BenchmarkRow {
  const rail = { slices: 40, repeats: 1, retries: 0, failures: 0 };
  return rowOf(size, size / 100, {
    slices: { p50: 100, p99: 200 },
    rails: [
      { ...rail, name: 'rdmap0s6', bytes: size * 600 },
      { ...rail, name: 'rdmap0s7', bytes: size * 400, retries: 8, failures: 2 },
    ],
    railTimeline: {
      milliseconds: [20, 40, 60, 80],
      megabytesPerSecond: [
        [50, 50, 90, 50],
        [50, 50, 0, 50],
      ],
    },
  });
}

export function benchmark(changes: Partial<BenchmarkResult> = {}): BenchmarkResult {
  return {
    ...header,
    kind: 'benchmark',
    command: 'rma-bw',
    role: 'client',
    operation: 'write',
    options: { window: 64, verify: true },
    rows: [],
    ...changes,
  };
}

/** Returns a matrix of ranks, each on its own host. `values` are rows. */
export function matrix(
  values: (number | null)[][],
  changes: Partial<MatrixResult> = {},
): MatrixResult {
  return {
    ...header,
    kind: 'matrix',
    command: 'all-to-all',
    ranks: values.map((_, rank) => ({ rank, host: `host-${rank}` })),
    size: 65536,
    metric: 'MB/s',
    values,
    ...changes,
  };
}

/** Returns a matrix in which all values are 1000, except those of one rank. */
export function slowMatrix(count: number, slow: number, value: number): MatrixResult {
  const ranks = Array.from({ length: count }, (_, rank) => rank);
  const figure = (i: number, j: number) => (i === slow || j === slow ? value : 1000);
  return matrix(ranks.map((i) => ranks.map((j) => (i === j ? null : figure(i, j)))));
}
