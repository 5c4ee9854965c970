import { axisX, axisY, rect, text } from '../../vendor/plot.js';
import { sizeText } from '../perf-table.js';
import type { MatrixResult } from '../result.js';
import { figure } from './chart.js';
import { decimalText, ratioText } from './format.js';
import { heatLegend, heatOf } from './heat-scale.js';
import type { Html } from './html.js';
import { type RankSpeed, speedOf, typicalValue } from './slow-ranks.js';

// Up to here every pair is a cell with its figures; beyond, neighbours of one colour are one cell, which
// keeps the page of a thousand ranks readable by a browser.
const MOST_SINGLE_CELLS = 64 ** 2;

interface Cell {
  readonly x1: number;
  readonly x2: number;
  readonly y: number;
  readonly heat: string;
  readonly title?: string;
}

/** Senders downwards, receivers to the right; beside them each one's median. */
export function heatMap(matrix: MatrixResult, ranks: readonly RankSpeed[]): Html {
  const count = ranks.length;
  const cells = mergedCells(pairCells(matrix));
  const medians = medianCells(matrix, ranks);
  const slow = ranks.flatMap((rank, i) => (rank.slow ? [i] : []));
  const failures = cells.some(({ heat }) => heat === 'failed');
  const end = count + 2; // the medians stand apart
  const description = `Speed of ${count} by ${count} pairs of ranks against the median pair; figures are below.`;
  const options = (width: number) => {
    const side = width - 50;
    const every = Math.ceil((count * 22) / side);
    const ticks = ranks.map((_, i) => i).filter((i) => i % every === 0);
    const labels = { tickSize: 0, tickFormat: (i: number) => String(ranks[i]?.rank) };
    const box = (cell: string) => ({
      x1: 'x1',
      x2: 'x2',
      y1: 'y',
      y2: ({ y }: Cell) => y + 1,
      fill: ({ heat }: Cell) => `var(--${heat})`,
      inset: side / end > 9 ? 0.5 : 0,
      title: 'title',
      ariaLabel: cell,
    });
    return {
      height: side + 50,
      marginLeft: 40,
      marginTop: 40,
      marginRight: 10,
      marginBottom: 10,
      x: { domain: [0, end], axis: null },
      y: { domain: [end, 0], axis: null },
      color: { type: 'identity' as const },
      marks: [
        axisX(ticks, {
          ...labels,
          anchor: 'top',
          dx: side / end / 2,
          label: 'receiver',
          labelArrow: 'none',
          labelAnchor: 'left' as const,
        }),
        axisY(ticks, {
          ...labels,
          anchor: 'left',
          dy: side / end / 2,
          label: 'sender',
          labelArrow: 'none',
          labelAnchor: 'top' as const,
        }),
        rect(cells, box('pairs')),
        rect(medians, box('medians')),
        text(slow, {
          x: count + 0.55,
          y: (i: number) => i + 0.5,
          text: () => '◀',
          fill: 'var(--slow)',
        }),
        text(slow, {
          x: (i: number) => i + 0.5,
          y: count + 0.55,
          text: () => '▲',
          fill: 'var(--slow)',
        }),
      ],
    };
  };
  const title = `${unitText(matrix)} of ${sizeText(matrix.size)} bytes between ranks`;
  return figure(title, description, options, heatLegend(failures));
}

/** What a matrix holds, in words. */
export function unitText({ metric }: MatrixResult): string {
  return metric === 'us' ? 'Time per transfer (µs)' : 'Bandwidth (MB/s)';
}

function pairCells(matrix: MatrixResult): Cell[] {
  const typical = typicalValue(matrix);
  return matrix.values.flatMap((row, i) =>
    row.flatMap((value, j) => {
      if (i === j) return [];
      const speed = value === null ? undefined : speedOf(value, typical, matrix.metric);
      const what = value === null ? 'no figure' : `${decimalText(value)} ${matrix.metric}`;
      const ratio = speed === undefined ? '' : `, ${ratioText(speed)} of the median`;
      const names = [i, j].map((at) => `${matrix.ranks[at]?.rank} (${matrix.ranks[at]?.host})`);
      const title = `${names.join(' to ')}\n${what}${ratio}`;
      return [{ x1: j, x2: j + 1, y: i, heat: heatOf(speed), title }];
    }),
  );
}

function mergedCells(cells: Cell[]): Cell[] {
  if (cells.length <= MOST_SINGLE_CELLS) return cells;
  const merged: Cell[] = [];
  for (const { title: _, ...cell } of cells) {
    const last = merged.at(-1);
    const joins = last?.y === cell.y && last.x2 === cell.x1 && last.heat === cell.heat;
    if (joins) merged[merged.length - 1] = { ...last, x2: cell.x2 };
    else merged.push(cell);
  }
  return merged;
}

function medianCells({ metric }: MatrixResult, ranks: readonly RankSpeed[]): Cell[] {
  const at = ranks.length + 1;
  return ranks.flatMap(({ rank, sends, sendSpeed, receives, receiveSpeed }, i) => {
    const title = (verb: string, value: number, speed: number) =>
      `${rank} ${verb}, median: ${decimalText(value)} ${metric}, ${ratioText(speed)}`;
    return [
      {
        x1: at,
        x2: at + 1,
        y: i,
        heat: heatOf(sendSpeed),
        title: title('sends', sends, sendSpeed),
      },
      {
        x1: i,
        x2: i + 1,
        y: at,
        heat: heatOf(receiveSpeed),
        title: title('receives', receives, receiveSpeed),
      },
    ];
  });
}
