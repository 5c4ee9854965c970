import { line, type Markish } from '../../vendor/plot.js';
import { sizeText } from '../shared/perf-table.js';
import type { BenchmarkRow, RailTimeline } from '../shared/result.js';
import { linearAxis, timeAxis } from './axes.js';
import { timeChart } from './chart.js';
import { decimalText, wholeText } from './format.js';
import { charts, figuresOfEach, type Html, html, section, table } from './html.js';
import type { Run } from './run.js';
import { colourOf, lineKey, type Series } from './series.js';

const SUM = { name: 'all rails', colour: 'var(--ink)' };
const MOST_STEPS = 250; // of a line

/** The bandwidth of each rail of a transfer engine over time: a chart for each size. */
export function railsSection(all: readonly Run[]): Html | undefined {
  const runs = all.filter((run) => run.rows.some(({ rails = [] }) => rails.length > 0));
  if (runs.length === 0) return undefined;
  const drawn = runs.flatMap((run) =>
    run.rows.map((row) => railChart(runs.length > 1 ? `${run.name}, ` : '', row)),
  );
  return section(
    'Rails over time',
    html`<p>A rail that is lost falls to zero, and the others take its part. Pauses between transfers, as for the
check of the bytes, are drawn too.</p>`,
    charts(drawn.filter((chart) => chart !== undefined)),
    figuresOfEach(runs.map((run) => ({ name: run.name, figures: railTable(run) }))),
  );
}

function railChart(prefix: string, { size, rails = [], railTimeline }: BenchmarkRow) {
  if (railTimeline === undefined || railTimeline.milliseconds.length === 0) return undefined;
  const series = rails.map(({ name }, index) => ({ index, name }));
  const { ends, rates } = coarser(railTimeline);
  const sums = ends.map((_, i) => rates.reduce((sum, rail) => sum + (rail[i] ?? 0), 0));
  return timeChart({
    title: `${prefix}${sizeText(size)} bytes per transfer`,
    description: 'MB/s of each rail and of all rails over seconds; the table has the totals.',
    x: timeAxis(ends.at(-1) ?? 0),
    y: linearAxis(sums, 'MB/s'),
    marks: [
      ...(series.length > 1 ? [steps(ends, sums, SUM.colour)] : []),
      ...series.map((rail) => steps(ends, rates[rail.index] ?? [], colourOf(rail))),
    ],
    legend: railLegend(series),
  });
}

/** The ends of intervals in seconds, and the rates of each rail. Neighbours are merged. */
function coarser({ milliseconds, megabytesPerSecond }: RailTimeline) {
  const every = Math.ceil(milliseconds.length / MOST_STEPS);
  const last = milliseconds.length - 1;
  const ends = milliseconds.flatMap((_, i) => ((i + 1) % every === 0 || i === last ? [i] : []));
  const lengthOf = (i: number) => (milliseconds[i] ?? 0) - (milliseconds[i - 1] ?? 0);
  const mean = (rates: readonly number[], from: number, to: number) => {
    let [moved, time] = [0, 0];
    for (let i = from; i <= to; i++) {
      moved += (rates[i] ?? 0) * lengthOf(i);
      time += lengthOf(i);
    }
    return time > 0 ? moved / time : 0;
  };
  return {
    ends: ends.map((i) => (milliseconds[i] ?? 0) / 1000),
    rates: megabytesPerSecond.map((rates) =>
      ends.map((end, i) => mean(rates, i === 0 ? 0 : (ends[i - 1] ?? 0) + 1, end)),
    ),
  };
}

/** The rates as steps, because each is that of a whole interval. */
function steps(ends: readonly number[], rates: readonly number[], stroke: string): Markish {
  const points = [{ x: 0, y: rates[0] ?? 0 }, ...rates.map((y, i) => ({ x: ends[i] ?? 0, y }))];
  return line(points, { x: 'x', y: 'y', stroke, strokeWidth: 1.4, curve: 'step-before' });
}

function railLegend(series: readonly Series[]): Html {
  const sum = html`<li>${lineKey(SUM.colour)} ${SUM.name}</li>`;
  const items = series.map((rail) => html`<li>${lineKey(colourOf(rail))} ${rail.name}</li>`);
  return html`<ul class="legend">${series.length > 1 && sum}${items}</ul>`;
}

function railTable(run: Run): Html {
  const head = html`<tr><th scope="col">bytes</th><th scope="col" class="text">rail</th><th scope="col">share</th>
<th scope="col">MB/s</th><th scope="col">bytes</th><th scope="col">slices</th><th scope="col">repeats</th><th scope="col">retries</th><th scope="col">failures</th></tr>`;
  const body = run.rows.flatMap(({ size, seconds, rails = [] }) => {
    const total = rails.reduce((sum, { bytes }) => sum + bytes, 0);
    const trouble = (count: number) =>
      html`<td${count > 0 && html` class="trouble"`}>${wholeText(count)}</td>`;
    return rails.map(
      ({
        name,
        bytes,
        slices,
        repeats,
        retries,
        failures,
      }) => html`<tr><th scope="row">${sizeText(size)}</th>
<td class="text">${name}</td><td>${decimalText((100 * bytes) / (total || 1))} %</td>
<td>${decimalText(bytes / (seconds || 1) / 1e6)}</td><td>${wholeText(bytes)}</td><td>${wholeText(slices)}</td>
<td>${wholeText(repeats)}</td>${trouble(retries)}${trouble(failures)}</tr>`,
    );
  });
  return table(`What each rail of ${run.name} transferred`, head, body);
}
