import { areaY, line } from '../../vendor/plot.js';
import { sizeText } from '../shared/perf-table.js';
import type { LatencyPercentiles } from '../shared/result.js';
import { logAxis } from './axes.js';
import { sizeChart } from './chart.js';
import { rowsBySize, sizesOf } from './compare.js';
import { decimalText } from './format.js';
import { charts, details, groupsOf, Html, html, section, table } from './html.js';
import type { Run } from './run.js';
import { colourOf, key } from './series.js';

const LINES = [
  { name: 'p50', label: 'p50', dash: '', width: 2.2, opacity: 1 },
  { name: 'p99', label: 'p99', dash: '7 3', width: 1.6, opacity: 1 },
  { name: 'p999', label: 'p99.9', dash: '3 3', width: 1.6, opacity: 1 },
  { name: 'max', label: 'max', dash: '1 3', width: 1.6, opacity: 0.9 },
] as const;

const BANDS = [
  { low: 'p50', high: 'p99', opacity: 0.3 },
  { low: 'p99', high: 'p999', opacity: 0.17 },
  { low: 'p999', high: 'max', opacity: 0.08 },
] as const;

/** The distribution of transfer times: a chart for each run, all with the same axes. */
export function percentilesSection(all: readonly Run[]): Html | undefined {
  const runs = all.filter((run) => points(run).length > 0);
  if (runs.length === 0) return undefined;
  const every = runs.flatMap(points);
  const times = every.flatMap(({ latency: { p50, p99, p999, max } }) => [p50, p99, p999, max]);
  const drawn = runs.map((run) =>
    sizeChart({
      title: run.name,
      description: 'Percentiles of the time of a transfer in microseconds against bytes.',
      sizes: every.map(({ size }) => size),
      y: logAxis(times, 'µs'),
      marks: marks(run),
      legend: lineLegend(run),
    }),
  );
  return section(
    'Percentiles of the time per transfer',
    charts(drawn),
    details(
      'Figures',
      groupsOf(runs).map((group) => percentileTable(group, runs)),
    ),
  );
}

// The rows that a logarithmic axis can show.
function points(run: Run): { size: number; latency: LatencyPercentiles }[] {
  return run.rows.flatMap(({ size, latency }) =>
    size > 0 && latency !== undefined && latency.p50 > 0 ? [{ size, latency }] : [],
  );
}

function marks(run: Run) {
  const data = points(run);
  const colour = colourOf(run);
  const value = (name: keyof LatencyPercentiles) => (point: (typeof data)[number]) =>
    point.latency[name];
  return [
    ...BANDS.map(({ low, high, opacity }) =>
      areaY(data, {
        x: 'size',
        y1: value(low),
        y2: value(high),
        fill: colour,
        fillOpacity: opacity,
      }),
    ),
    ...LINES.map(({ name, dash, width, opacity }) =>
      line(data, {
        x: 'size',
        y: value(name),
        stroke: colour,
        strokeWidth: width,
        strokeDasharray: dash || 'none',
        strokeOpacity: opacity,
        marker: data.length === 1 ? 'dot' : 'none',
      }),
    ),
  ];
}

function lineLegend(run: Run): Html {
  const items = LINES.map(({ label, dash, width }) => {
    const stroke = `stroke="${colourOf(run)}" stroke-width="${width}" stroke-dasharray="${dash}"`;
    const svg = `<svg width="30" height="10" aria-hidden="true"><path d="M0 5H30" ${stroke}/></svg>`;
    return html`<li>${new Html(svg)} ${label}</li>`;
  });
  return html`<ul class="legend">${items}</ul>`;
}

function percentileTable(runs: readonly Run[], all: readonly Run[]): Html {
  const rows = runs.map(rowsBySize);
  const head = html`<tr><th scope="col" rowspan="2">bytes</th>${runs.map(
    (run) => html`<th scope="colgroup" colspan="4" class="group">${key(run)} ${run.name}</th>`,
  )}</tr><tr>${runs.map(() =>
    LINES.map(
      ({ label }, i) => html`<th scope="col"${i === 0 && html` class="group"`}>${label}</th>`,
    ),
  )}</tr>`;
  const body = sizesOf(all).map((size) => {
    const cells = rows.map((bySize) =>
      LINES.map(({ name }, i) => {
        const value = bySize.get(size)?.latency?.[name];
        const text = value === undefined ? '' : decimalText(value);
        return html`<td${i === 0 && html` class="group"`}>${text}</td>`;
      }),
    );
    return html`<tr><th scope="row">${sizeText(size)}</th>${cells}</tr>`;
  });
  return table('Microseconds per transfer', head, body);
}
