// The matrix of all pairs for a terminal.

import type { MatrixResult } from '../../shared/result.js';
import {
  PairSpeeds,
  PLACE_TEXT,
  type RankSpeed,
  rankSpeeds,
  SLOW,
  slowPairs,
} from '../../shared/slow-ranks.js';

/** Ranks up to which every pair is shown. */
const MOST_RANKS = 16;
const MOST_LINES = 10;

/** The lines of all pairs, or of the slowest pairs if there are too many, and of the outliers. */
export function matrixLines(matrix: MatrixResult): string[] {
  const speeds = new PairSpeeds(matrix);
  const ranks = rankSpeeds(speeds);
  const few = ranks.length <= MOST_RANKS;
  return [
    ...(few ? pairLines(matrix) : slowestLines(speeds)),
    '',
    ...spreadLines(speeds),
    ...findings(speeds, ranks, few),
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

function slowestLines({ matrix, pairs }: PairSpeeds): string[] {
  const { metric, ranks } = matrix;
  const slowest = pairs.toSorted((a, b) => a.speed - b.speed);
  return [
    `slowest of ${slowest.length} pairs, ${metric}`,
    ...slowest.slice(0, MOST_LINES).map((pair) => {
      const names = [pair.from, pair.to].map((rank) => `${rank} (${ranks[rank]?.host})`);
      return `${figureText(pair.value).padStart(10)}  ${names.join(' to ')}`;
    }),
  ];
}

function spreadLines({ matrix, pairs, medians, places }: PairSpeeds): string[] {
  if (pairs.length === 0) return ['no pair was measured'];
  return places.map((place) => {
    const values = pairs.filter((pair) => pair.place === place).map(({ value }) => value);
    const least = values.reduce((a, b) => Math.min(a, b));
    const most = values.reduce((a, b) => Math.max(a, b));
    const figures = [least, medians[place], most].map(figureText);
    const which = places.length > 1 ? `pairs ${PLACE_TEXT[place]}` : 'pairs';
    return `${which}: min ${figures[0]}, median ${figures[1]}, max ${figures[2]} ${matrix.metric}`;
  });
}

function findings(speeds: PairSpeeds, ranks: readonly RankSpeed[], few: boolean): string[] {
  const one = speeds.places.length === 1;
  const percent = (speed: number) => `${Math.round(100 * speed)} %`;
  const slow = ranks
    .filter((rank) => rank.slow)
    .map(
      ({ rank, host, sendSpeed, receiveSpeed }) =>
        `slow: rank ${rank} (${host}) sends at ${percent(sendSpeed)} and receives at ${percent(receiveSpeed)} of the median ${one ? 'pair' : 'of such pairs'}`,
    );
  const pairs = slowPairs(speeds, ranks).map(({ from, to, speed, place }) => {
    const median = one ? 'the median pair' : `the median pair ${PLACE_TEXT[place]}`;
    return `slow: ${from} to ${to}, at ${percent(speed)} of ${median}, though its ranks are not`;
  });
  if (few || pairs.length === 0) return [...shortened(slow, 'ranks'), ...shortened(pairs, 'pairs')];
  const share = percent(SLOW);
  const count = `slow pairs: ${pairs.length}, below ${share} of the median one, though their ranks are not`;
  return [...shortened(slow, 'ranks'), count];
}

function shortened(lines: readonly string[], what: string): string[] {
  const left = lines.length - MOST_LINES;
  return [...lines.slice(0, MOST_LINES), ...(left > 0 ? [`and ${left} more slow ${what}`] : [])];
}
