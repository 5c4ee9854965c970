import { ruleY } from '../../vendor/plot.js';
import { sizeText } from '../shared/perf-table.js';
import type { BenchmarkRow } from '../shared/result.js';
import { linearAxis, logAxis } from './axes.js';
import { sizeChart } from './chart.js';
import { NOTABLE, overallSpeedup, rowsBySize, sizesOf, speedups } from './compare.js';
import { decimalText, ratioText } from './format.js';
import { details, type Html, html, type Part, section, table } from './html.js';
import type { Run } from './run.js';
import { key, legend, seriesMarks } from './series.js';

/** Bandwidth and time per transfer, and a comparison of runs with the first. */
export function throughputSection(runs: readonly Run[]): Html | undefined {
  const drawn = runs.filter(({ rows }) => rows.some(({ size }) => size > 0));
  if (drawn.length === 0) return undefined;
  const charts = [
    rowChart(drawn, 'Bandwidth', 'MB/s', (row) => row.megabytesPerSecond),
    rowChart(drawn, 'Time per transfer', 'µs', (row) => row.microsecondsPerTransfer),
    runs.length > 1 && speedupChart(drawn, runs[0]!),
  ];
  return section(
    'Bandwidth and time per transfer',
    legend(drawn),
    html`<div class="charts">${charts}</div>`,
    details('Figures', resultTable(runs), true),
  );
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
    title: `Bandwidth as a multiple of ${baseline.name}`,
    description: 'Above 1 is faster than the first run; the table has the figures.',
    sizes: series.flatMap(({ points }) => points.map(({ x }) => x)),
    y: linearAxis([...ratios, 1], 'ratio'),
    marks: [
      ruleY([1], { stroke: 'currentColor', strokeOpacity: 0.5 }),
      ...series.flatMap(({ run, points }) => seriesMarks(run, points)),
    ],
  });
}

function resultTable(runs: readonly Run[]): Html {
  const [baseline] = runs as readonly [Run];
  const ratios = runs.map((run) => speedups(run, baseline));
  const rows = runs.map(rowsBySize);
  const compared = (run: Run) => run !== baseline;
  const head = html`<tr><th scope="col" rowspan="2">bytes</th>${runs.map(
    (run) =>
      html`<th scope="colgroup" colspan="${compared(run) ? 3 : 2}" class="group">${key(run)} ${run.name}</th>`,
  )}</tr><tr>${runs.map(
    (run) =>
      html`<th scope="col" class="group">MB/s</th><th scope="col">µs</th>${
        compared(run) && html`<th scope="col">ratio</th>`
      }`,
  )}</tr>`;
  const body = sizesOf(runs).map((size) => {
    const cells = runs.map((run, i): Part => {
      const row = rows[i]?.get(size);
      return html`<td class="group">${row && decimalText(row.megabytesPerSecond)}</td>
<td>${row && decimalText(row.microsecondsPerTransfer)}</td>${compared(run) && ratioCell(ratios[i]?.get(size))}`;
    });
    return html`<tr><th scope="row">${sizeText(size)}</th>${cells}</tr>`;
  });
  const means = runs.map(
    (run) =>
      html`<td class="group"></td><td></td>${compared(run) && ratioCell(overallSpeedup(run, baseline))}`,
  );
  const foot = runs.length > 1 && html`<tr><th scope="row">geometric mean</th>${means}</tr>`;
  const caption =
    runs.length > 1
      ? `Bandwidth (10⁶ bytes a second), time per transfer, and ratio of bandwidths to ${baseline.name}`
      : 'Bandwidth (10⁶ bytes a second) and time per transfer';
  return table(caption, head, body, foot || undefined);
}

/** A ratio to the baseline. A difference of more than 5 % is marked. */
export function ratioCell(ratio: number | undefined): Html {
  if (ratio === undefined) return html`<td></td>`;
  const mark = ratio > 1 + NOTABLE ? 'faster' : ratio < 1 - NOTABLE ? 'slower' : 'same';
  return html`<td class="${mark}">${ratioText(ratio)}</td>`;
}
