import { sizeText } from '../shared/perf-table.js';
import type { CpuUse } from '../shared/result.js';
import { linearAxis } from './axes.js';
import { sizeChart } from './chart.js';
import { rowsBySize, sizesOf } from './compare.js';
import { decimalText } from './format.js';
import { details, groupsOf, type Html, html, section, table } from './html.js';
import type { Run } from './run.js';
import { key, legend, seriesMarks } from './series.js';

const SIDES = ['client', 'server'] as const;
type Side = (typeof SIDES)[number];

/** How many cores each side kept busy. */
export function cpuSection(all: readonly Run[]): Html | undefined {
  const runs = all.filter((run) => run.rows.some(({ cpu }) => cpu !== undefined));
  if (runs.length === 0) return undefined;
  const most = Math.max(
    ...runs.flatMap(({ rows }) => rows.flatMap(({ cpu }) => [cpu?.own ?? 0, cpu?.peer ?? 0])),
  );
  return section(
    'CPU',
    legend(runs),
    html`<div class="charts">${SIDES.map((side) => cpuChart(runs, side, most))}</div>`,
    details(
      'Figures',
      groupsOf(runs).map((group) => cpuTable(group, runs)),
    ),
  );
}

function coresOf(run: Run, cpu: CpuUse | undefined, side: Side): number | undefined {
  return (run.role ?? 'client') === side ? cpu?.own : cpu?.peer;
}

function cpuChart(runs: readonly Run[], side: Side, most: number): Html | undefined {
  const series = runs.map((run) => ({
    run,
    points: run.rows.flatMap(({ size, cpu }) => {
      const y = coresOf(run, cpu, side);
      if (y === undefined || size === 0) return [];
      return [{ x: size, y, title: `${run.name}\n${sizeText(size)}: ${decimalText(y)} cores` }];
    }),
  }));
  const sizes = series.flatMap(({ points }) => points.map(({ x }) => x));
  if (sizes.length === 0) return undefined;
  return sizeChart({
    title: `CPU of the ${side}`,
    description: 'Cores kept busy against bytes per transfer.',
    sizes,
    y: linearAxis([most], 'cores'),
    marks: series.flatMap(({ run, points }) => seriesMarks(run, points)),
  });
}

function cpuTable(runs: readonly Run[], all: readonly Run[]): Html {
  const rows = runs.map(rowsBySize);
  const head = html`<tr><th scope="col" rowspan="2">bytes</th>${runs.map(
    (run) => html`<th scope="colgroup" colspan="2" class="group">${key(run)} ${run.name}</th>`,
  )}</tr><tr>${runs.map(() => html`<th scope="col" class="group">client</th><th scope="col">server</th>`)}</tr>`;
  const body = sizesOf(all).map((size) => {
    const cells = runs.map((run, i) => {
      const [client, server] = SIDES.map((side) => {
        const cores = coresOf(run, rows[i]?.get(size)?.cpu, side);
        return cores === undefined ? '' : decimalText(cores);
      });
      return html`<td class="group">${client}</td><td>${server}</td>`;
    });
    return html`<tr><th scope="row">${sizeText(size)}</th>${cells}</tr>`;
  });
  return table('Cores kept busy: 1 is one core', head, body);
}
