import { sizeText } from '../../shared/perf-table.js';
import type { BenchmarkRow, ResultDevice } from '../../shared/result.js';
import { counterTable } from './counter-table.js';

const COLUMNS = ['p50', 'p99', 'p99.9', 'max', 'min', 'median', 'max', 'own', 'peer'];
const GROUPS = ['latency, usec/xfer', 'MB/sec of slices', 'cores'];

/** What fabtests' table lacks, to be read below it. */
export function statisticsTable(
  rows: readonly BenchmarkRow[],
  device: ResultDevice,
  warnings: readonly string[],
): string[] {
  const { provider, fabric, domain, endpointType, protocol } = device;
  return [
    '',
    `provider ${provider}, fabric ${fabric}, domain ${domain}, ${endpointType}, ${protocol}` +
      (device.software ? ', in software' : ''),
    '',
    `${''.padEnd(8)}${(GROUPS[0] as string).padStart(40)}${(GROUPS[1] as string).padStart(30)}` +
      (GROUPS[2] as string).padStart(16),
    'bytes'.padEnd(8) + COLUMNS.map((name, i) => name.padStart(i < 7 ? 10 : 8)).join(''),
    ...rows.map(statisticsRow),
    ...counterTable(rows),
    ...(warnings.length > 0 ? [''] : []),
    ...warnings.map((warning) => `Note: ${warning}.`),
  ];
}

function statisticsRow(row: BenchmarkRow): string {
  const { latency, bandwidthSlices = [], cpu } = row;
  const sorted = [...bandwidthSlices].sort((a, b) => a - b);
  const wide = [
    latency?.p50,
    latency?.p99,
    latency?.p999,
    latency?.max,
    sorted[0],
    sorted[Math.floor(sorted.length / 2)],
    sorted.at(-1),
  ];
  const cell = (value: number | undefined, width: number) =>
    (value === undefined ? '-' : value.toFixed(2)).padStart(width);
  return (
    sizeText(row.size).padEnd(8) +
    wide.map((value) => cell(value, 10)).join('') +
    [cpu?.own, cpu?.peer].map((value) => cell(value, 8)).join('')
  );
}
