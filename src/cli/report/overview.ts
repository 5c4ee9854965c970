import { sizeText } from '../shared/perf-table.js';
import type { BenchmarkRow } from '../shared/result.js';
import { overallSpeedup } from './compare.js';
import { decimalText } from './format.js';
import { type Html, html, section, table } from './html.js';
import type { Run } from './run.js';
import { key } from './series.js';
import { figuresOf, ratioCell } from './throughput.js';

/** The runs with their best figures. */
export function overviewSection(runs: readonly Run[]): Html | undefined {
  const [baseline] = runs;
  if (baseline === undefined) return undefined;
  const several = runs.length > 1;
  const figures = figuresOf(runs);
  const head = html`<tr><th scope="col" class="text">run</th><th scope="col" class="text">benchmark</th><th scope="col" class="text">device</th>
${figures.map(({ best }) => html`<th scope="col">${best}</th><th scope="col">at bytes</th>`)}${
  several && html`<th scope="col">against the first</th>`
}</tr>`;
  const rows = runs.map((run) => {
    const cells = figures.map(({ of, sign }) => {
      const row = best(run.rows, (each) => sign * of(each));
      return html`<td>${row && decimalText(of(row))}</td><td>${row && sizeText(row.size)}</td>`;
    });
    return html`<tr><th scope="row" class="name">${key(run)} ${run.name}</th>
<td class="text">${[run.command, run.operation, run.role].filter(Boolean).join(', ')}</td>
<td class="text">${deviceText(run)}</td>
${cells}
${several && (run === baseline ? html`<td>baseline</td>` : ratioCell(overallSpeedup(run, baseline)))}</tr>`;
  });
  const caption = several
    ? 'The last column is the speed as a multiple of the first run’s: the geometric mean over the sizes in common'
    : 'The best figures';
  return section('Runs', table(caption, head, rows));
}

function best(rows: readonly BenchmarkRow[], score: (row: BenchmarkRow) => number) {
  return rows.reduce<BenchmarkRow | undefined>(
    (found, row) => (found === undefined || score(row) > score(found) ? row : found),
    undefined,
  );
}

function deviceText({ device }: Run): string {
  if (device === undefined) return '–';
  return `${device.provider} ${device.domain}${device.software ? ' (software)' : ''}`;
}
