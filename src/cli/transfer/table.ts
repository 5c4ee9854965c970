// The table of `libfabric transfer`, in the style of fabtests' tables.
import { countText, sizeText } from '../shared/perf-table.js';
import type { BenchmarkRow } from '../shared/result.js';

/** The table header. */
export const tableHeader = (): string =>
  [
    'bytes'.padEnd(8),
    'iters'.padEnd(8),
    'total'.padEnd(8),
    'time'.padStart(8),
    ' ',
    'GB/sec'.padStart(10),
    'p50'.padStart(10),
    'p99 usec/slice'.padStart(17),
  ].join('');

/** One row. GB are 10^9 bytes. */
export const tableRow = ({ size, iterations, seconds, megabytesPerSecond, slices }: BenchmarkRow) =>
  [
    sizeText(size).padEnd(8),
    countText(iterations).padEnd(8),
    sizeText(size * iterations).padEnd(8),
    `${seconds.toFixed(2).padStart(8)}s`,
    (megabytesPerSecond / 1000).toFixed(2).padStart(10),
    (slices?.p50 ?? Number.NaN).toFixed(0).padStart(10),
    (slices?.p99 ?? Number.NaN).toFixed(0).padStart(10),
  ].join('');

/** What --stats prints below a row: a row for each rail, and the CPU of both sides. */
export function statisticsRows(
  { rails = [], cpu }: BenchmarkRow,
  role: 'client' | 'server',
): string[] {
  const [client, server] = role === 'client' ? [cpu?.own, cpu?.peer] : [cpu?.peer, cpu?.own];
  const total = rails.reduce((sum, { bytes }) => sum + bytes, 0);
  const width = Math.max(24, ...rails.map(({ name }) => name.length + 2));
  const line = (name: string, cells: readonly string[]) =>
    `  ${name.padEnd(width)}${[8, 16, 10, 9, 9, 10].map((each, i) => (cells[i] ?? '').padStart(each)).join('')}`;
  const cores = (value: number | undefined) => (value === undefined ? '-' : value.toFixed(2));
  return [
    line('rail', ['share', 'bytes', 'slices', 'repeats', 'retries', 'failures']),
    ...rails.map(({ name, bytes, slices, repeats, retries, failures }) => {
      const share = `${total === 0 ? 0 : ((100 * bytes) / total).toFixed(1)} %`;
      return line(printable(name), [
        share,
        ...[bytes, slices, repeats, retries, failures].map(String),
      ]);
    }),
    ...(cpu ? [`  cores: client ${cores(client)}, server ${cores(server)}`] : []),
  ];
}

// The server prints names that the client has sent.
const printable = (name: string) => name.replace(/\p{Cc}/gu, ' ');
