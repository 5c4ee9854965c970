// The matrix of all pairs for a terminal.

import type { MatrixResult } from '../../shared/result.js';
import {
  type RankSpeed,
  rankSpeeds,
  SLOW_RANK,
  slowPairs,
  speedOf,
  typicalValue,
} from '../../shared/slow-ranks.js';

/** Ranks up to which every pair is shown. */
const MOST_RANKS = 16;
const MOST_LINES = 10;

/** All pairs, or the slowest if there are too many, and the outliers. */
export function matrixLines(matrix: MatrixResult): string[] {
  const ranks = rankSpeeds(matrix);
  const few = ranks.length <= MOST_RANKS;
  return [
    ...(few ? pairLines(matrix) : slowestLines(matrix)),
    '',
    spreadLine(matrix),
    ...findings(matrix, ranks, few),
  ];
}

/** A value with about three significant digits: `'1234'`, `'12.3'`, `'1.23'`. */
export function figureText(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

function pairLines(matrix: MatrixResult): string[] {
  const { ranks, values, metric } = matrix;
  const cells = values.map((row, i) =>
    row.map((value, j) => (i === j ? '-' : value === null ? '?' : figureText(value))),
  );
  const widest = Math.max(...cells.flat().map(({ length }) => length), ...ranks.map(labelWidth));
  const width = Math.max(6, widest) + 2;
  const first = Math.max(metric.length, ...ranks.map(({ rank }) => `from ${rank}`.length));
  const head = `${metric.padEnd(first)}${ranks.map(({ rank }) => `to ${rank}`.padStart(width)).join('')}  host`;
  const rows = ranks.map(({ rank, host }, i) => {
    const row = (cells[i] as string[]).map((cell) => cell.padStart(width)).join('');
    return `${`from ${rank}`.padEnd(first)}${row}  ${host}`;
  });
  return [head, ...rows];
}

const labelWidth = ({ rank }: { readonly rank: number }) => `to ${rank}`.length;

interface Pair {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

function pairsOf({ values }: MatrixResult): Pair[] {
  return values.flatMap((row, from) =>
    row.flatMap((value, to) => (from === to || value === null ? [] : [{ from, to, value }])),
  );
}

function slowestLines(matrix: MatrixResult): string[] {
  const { metric, ranks } = matrix;
  const typical = typicalValue(matrix);
  const speed = ({ value }: Pair) => speedOf(value, typical, metric);
  const slowest = pairsOf(matrix).sort((a, b) => speed(a) - speed(b));
  return [
    `slowest of ${slowest.length} pairs, ${metric}`,
    ...slowest.slice(0, MOST_LINES).map((pair) => {
      const names = [pair.from, pair.to].map((rank) => `${rank} (${ranks[rank]?.host})`);
      return `${figureText(pair.value).padStart(10)}  ${names.join(' to ')}`;
    }),
  ];
}

function spreadLine(matrix: MatrixResult): string {
  const values = pairsOf(matrix).map(({ value }) => value);
  if (values.length === 0) return 'no pair was measured';
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const figures = [least, typicalValue(matrix), most].map(figureText);
  return `pairs: min ${figures[0]}, median ${figures[1]}, max ${figures[2]} ${matrix.metric}`;
}

function findings(matrix: MatrixResult, ranks: readonly RankSpeed[], few: boolean): string[] {
  const percent = (speed: number) => `${Math.round(100 * speed)} %`;
  const slow = ranks
    .filter((rank) => rank.slow)
    .map(
      ({ rank, host, sendSpeed, receiveSpeed }) =>
        `slow: rank ${rank} (${host}) sends at ${percent(sendSpeed)} and receives at ${percent(receiveSpeed)} of the median pair`,
    );
  const pairs = slowPairs(matrix, ranks, SLOW_RANK).map(
    ({ sender, receiver, speed }) =>
      `slow: ${sender} to ${receiver}, at ${percent(speed)} of the median pair, though its ranks are not`,
  );
  if (few || pairs.length === 0) return [...shortened(slow, 'ranks'), ...shortened(pairs, 'pairs')];
  const share = percent(SLOW_RANK);
  const count = `slow pairs: ${pairs.length}, below ${share} of the median one, though their ranks are not`;
  return [...shortened(slow, 'ranks'), count];
}

function shortened(lines: readonly string[], what: string): string[] {
  const left = lines.length - MOST_LINES;
  return [...lines.slice(0, MOST_LINES), ...(left > 0 ? [`and ${left} more slow ${what}`] : [])];
}
