import { sizeText } from '../../shared/perf-table.js';
import type { BenchmarkRow } from '../../shared/result.js';
import { type Traffic, trafficOf } from '../../shared/traffic.js';

interface Column {
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
): Column => ({ group, title, figure, width });

const COLUMNS: readonly Column[] = [
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

/** What the device's counters rose by while each size ran; nothing where it has none. */
export function counterTable(rows: readonly BenchmarkRow[]): string[] {
  const counted = rows.filter(({ counters }) => counters !== undefined);
  if (counted.length === 0) return [];
  return [
    '',
    'counters of the device',
    ''.padEnd(8) + groups(),
    'bytes'.padEnd(8) + COLUMNS.map(({ title, width }) => title.padStart(width)).join(''),
    ...counted.map(({ size, counters = {} }) => {
      const traffic = trafficOf(counters);
      const cells = COLUMNS.map(({ figure, width }) => String(traffic[figure]).padStart(width));
      return sizeText(size).padEnd(8) + cells.join('');
    }),
  ];
}

/** The name of each group, at the right end of its columns. */
function groups(): string {
  const widths = new Map<string, number>();
  for (const { group, width } of COLUMNS) widths.set(group, (widths.get(group) ?? 0) + width);
  return [...widths].map(([group, width]) => group.padStart(width)).join('');
}
