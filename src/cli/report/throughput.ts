import { ruleY } from '../../vendor/plot.js';
import { sizeText } from '../shared/perf-table.js';
import type { BenchmarkRow } from '../shared/result.js';
import { linearAxis, logAxis } from './axes.js';
import { sizeChart } from './chart.js';
import { NOTABLE, overallSpeedup, rowsBySize, sizesOf, speedups } from './compare.js';
import { decimalText, ratioText } from './format.js';
import {
  details,
  groupsOf,
  type Html,
  html,
  MOST_OPEN_RUNS,
  type Part,
  section,
  table,
} from './html.js';
import type { Run } from './run.js';
import { key, legend, seriesMarks } from './series.js';

/** Bandwidth and time per transfer, and a comparison of runs with the first. */
export function throughputSection(runs: readonly Run[]): Html | undefined {
  const drawn = runs.filter(({ rows }) => rows.some(({ size }) => size > 0));
  if (drawn.length === 0) return undefined;
  const figures = figuresOf(runs);
  const charts = [
    ...figures.map(({ title, unit, of }) => rowChart(drawn, title, unit, of)),
    runs.length > 1 && speedupChart(drawn, runs[0]!),
  ];
  const [first, second] = figures.map(({ title }) => title);
  return section(
    `${first} and ${second?.toLowerCase()}`,
    legend(drawn),
    html`<div class="charts">${charts}</div>`,
    details(
      'Figures',
      groupsOf(runs).map((group) => resultTable(group, runs)),
      runs.length <= MOST_OPEN_RUNS,
    ),
  );
}

/** A figure of each row. */
interface Figure {
  readonly title: string;
  readonly unit: string;
  readonly of: (row: BenchmarkRow) => number;
  /** The name of the best one, and the sign by which it is the largest. */
  readonly best: string;
  readonly sign: 1 | -1;
}

const BANDWIDTH: Figure = {
  title: 'Bandwidth',
  unit: 'MB/s',
  of: (row) => row.megabytesPerSecond,
  best: 'highest MB/s',
  sign: 1,
};
const TIME: Figure = {
  title: 'Time per transfer',
  unit: 'µs',
  of: (row) => row.microsecondsPerTransfer,
  best: 'shortest µs',
  sign: -1,
};

/** Both figures, the one that matters first: of ping-pongs the time. */
export function figuresOf(runs: readonly Run[]): readonly [Figure, Figure] {
  const pingPongs = runs.every(({ rows }) =>
    rows.some(({ transfersPerIteration }) => transfersPerIteration === 2),
  );
  return pingPongs ? [TIME, BANDWIDTH] : [BANDWIDTH, TIME];
}

function rowChart(
  runs: readonly Run[],
  title: string,
  unit: string,
  figureOf: (row: BenchmarkRow) => number,
): Html {
  const series = runs.map((run) => ({
    run,
    points: run.rows
      .map((row) => ({ x: row.size, y: figureOf(row) }))
      .filter(({ x, y }) => x > 0 && y > 0)
      .map(({ x, y }) => ({
        x,
        y,
        title: `${run.name}\n${sizeText(x)}: ${decimalText(y)} ${unit}`,
      })),
  }));
  const points = series.flatMap((one) => one.points);
  if (points.length === 0) return html``;
  return sizeChart({
    title,
    description: `${unit} over bytes per transfer, both logarithmic; the table has the figures.`,
    sizes: points.map(({ x }) => x),
    y: logAxis(
      points.map(({ y }) => y),
      unit,
    ),
    marks: series.flatMap((one) => seriesMarks(one.run, one.points)),
  });
}

function speedupChart(runs: readonly Run[], baseline: Run): Html {
  const series = runs.map((run) => ({
    run,
    points: [...speedups(run, baseline)]
      .filter(([size]) => size > 0)
      .map(([x, y]) => ({ x, y, title: `${run.name}\n${sizeText(x)}: ${ratioText(y)}` })),
  }));
  const others = series.filter(({ run, points }) => run !== baseline && points.length > 0);
  if (others.length === 0) return html``;
  const ratios = series.flatMap(({ points }) => points.map(({ y }) => y));
  return sizeChart({
    title: `Speed as a multiple of ${baseline.name}`,
    description: 'Above 1 is faster than the first run; the table has the figures.',
    sizes: series.flatMap(({ points }) => points.map(({ x }) => x)),
    y: linearAxis([...ratios, 1], 'ratio'),
    marks: [
      ruleY([1], { stroke: 'currentColor', strokeOpacity: 0.5 }),
      ...series.flatMap(({ run, points }) => seriesMarks(run, points)),
    ],
  });
}

/** The figures of some of all runs. */
function resultTable(runs: readonly Run[], all: readonly Run[]): Html {
  const [baseline] = all as readonly [Run];
  const ratios = runs.map((run) => speedups(run, baseline));
  const rows = runs.map(rowsBySize);
  const compared = (run: Run) => run !== baseline;
  const [first, second] = figuresOf(all);
  const head = html`<tr><th scope="col" rowspan="2">bytes</th>${runs.map(
    (run) =>
      html`<th scope="colgroup" colspan="${compared(run) ? 3 : 2}" class="group">${key(run)} ${run.name}</th>`,
  )}</tr><tr>${runs.map(
    (run) =>
      html`<th scope="col" class="group">${first.unit}</th><th scope="col">${second.unit}</th>${
        compared(run) && html`<th scope="col">ratio</th>`
      }`,
  )}</tr>`;
  const body = sizesOf(all).map((size) => {
    const cells = runs.map((run, i): Part => {
      const row = rows[i]?.get(size);
      return html`<td class="group">${row && decimalText(first.of(row))}</td>
<td>${row && decimalText(second.of(row))}</td>${compared(run) && ratioCell(ratios[i]?.get(size))}`;
    });
    return html`<tr><th scope="row">${sizeText(size)}</th>${cells}</tr>`;
  });
  const means = runs.map(
    (run) =>
      html`<td class="group"></td><td></td>${compared(run) && ratioCell(overallSpeedup(run, baseline))}`,
  );
  const foot = all.length > 1 && html`<tr><th scope="row">geometric mean</th>${means}</tr>`;
  const both = [first, second].map(({ title, unit }) => `${title.toLowerCase()} (${unit})`);
  const caption =
    all.length > 1
      ? `By size: ${both.join(', ')}, and how many times as fast as ${baseline.name}`
      : `By size: ${both.join(' and ')}. MB are 10⁶ bytes.`;
  return table(caption, head, body, foot || undefined);
}

/** A ratio to the baseline. A difference of more than 5 % is marked. */
export function ratioCell(ratio: number | undefined): Html {
  if (ratio === undefined) return html`<td></td>`;
  const mark = ratio > 1 + NOTABLE ? 'faster' : ratio < 1 - NOTABLE ? 'slower' : 'same';
  return html`<td class="${mark}">${ratioText(ratio)}</td>`;
}
