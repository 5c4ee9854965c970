import { sizeText } from '../../shared/perf-table.js';
import type { BenchmarkRow, ResultDevice } from '../../shared/result.js';
import { type Traffic, trafficOf } from '../../shared/traffic.js';

const COLUMNS = ['p50', 'p99', 'p99.9', 'max', 'min', 'median', 'max', 'own', 'peer'];
const GROUPS = ['latency, usec/xfer', 'MB/sec of slices', 'cores'];

/** The statistics that are printed below fabtests' table. */
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

interface CounterColumn {
  readonly group: string;
  readonly title: string;
  readonly figure: keyof Traffic;
  readonly width: number;
}

const column = (
  group: string,
  title: string,
  figure: keyof Traffic,
  width = title.length + 2,
): CounterColumn => ({ group, title, figure, width });

const COUNTER_COLUMNS: readonly CounterColumn[] = [
  column('sent', 'bytes', 'sentBytes', 14),
  column('sent', 'packets', 'sentPackets', 11),
  column('received', 'bytes', 'receivedBytes', 14),
  column('received', 'packets', 'receivedPackets', 11),
  column('retransmitted', 'bytes', 'retransmittedBytes', 12),
  column('retransmitted', 'packets', 'retransmits', 9),
  column('retransmitted', 'timeouts', 'timeouts'),
  column('', 'drops', 'drops', 9),
  column('remotes', 'unresponsive', 'unresponsive'),
  column('remotes', 'impaired', 'impaired'),
];

/** The increase of the device's counters during each size; empty if the device has none. */
export function counterTable(rows: readonly BenchmarkRow[]): string[] {
  const counted = rows.filter(({ counters }) => counters !== undefined);
  if (counted.length === 0) return [];
  return [
    '',
    'counters of the device',
    ''.padEnd(8) + counterGroups(),
    'bytes'.padEnd(8) + COUNTER_COLUMNS.map(({ title, width }) => title.padStart(width)).join(''),
    ...counted.map(({ size, counters = {} }) => {
      const traffic = trafficOf(counters);
      const cells = COUNTER_COLUMNS.map(({ figure, width }) =>
        String(traffic[figure]).padStart(width),
      );
      return sizeText(size).padEnd(8) + cells.join('');
    }),
  ];
}

/** The name of each group, at the right end of its columns. */
function counterGroups(): string {
  const widths = new Map<string, number>();
  for (const { group, width } of COUNTER_COLUMNS)
    widths.set(group, (widths.get(group) ?? 0) + width);
  return [...widths].map(([group, width]) => group.padStart(width)).join('');
}
