import { areaY, line, ruleY } from '../../vendor/plot.js';
import { sizeText } from '../shared/perf-table.js';
import { median, quantile } from '../shared/statistics.js';
import { linearAxis } from './axes.js';
import { sizeChart } from './chart.js';
import { decimalText, wholeText } from './format.js';
import { charts, figuresOfEach, type Html, html, section, table } from './html.js';
import type { Run } from './run.js';
import { colourOf } from './series.js';
import { draw } from './svg-document.js';

interface Spread {
  readonly size: number;
  readonly slices: readonly number[];
  /** In percent of the median slice. */
  readonly low: number;
  readonly quarter: number;
  readonly threeQuarters: number;
  readonly high: number;
}

/** The variation of bandwidth between the slices of a run. */
export function spreadSection(all: readonly Run[]): Html | undefined {
  const runs = all
    .map((run) => ({ run, spreads: spreadsOf(run) }))
    .filter((one) => one.spreads.length > 0);
  if (runs.length === 0) return undefined;
  const every = runs.flatMap(({ spreads }) => spreads);
  const low = Math.min(95, ...every.map((spread) => spread.low));
  const high = Math.max(105, ...every.map((spread) => spread.high));
  const drawn = runs.map(({ run, spreads }) =>
    sizeChart({
      title: run.name,
      description: 'Slowest to fastest slice, and the middle half, in percent of the median slice.',
      sizes: every.map(({ size }) => size),
      y: linearAxis([], '% of the median slice', [low, high]),
      marks: marks(run, spreads),
    }),
  );
  return section(
    'Bandwidth over the run',
    html`<p>Each size ran in equal slices. The light band reaches from the slowest to the fastest slice, the
dark one holds the middle half of them.</p>`,
    charts(drawn),
    figuresOfEach(
      runs.map(({ run, spreads }) => ({ name: run.name, figures: spreadTable(run, spreads) })),
    ),
  );
}

function spreadsOf(run: Run): Spread[] {
  return run.rows.flatMap(({ size, bandwidthSlices: slices = [] }) => {
    const middle = median(slices);
    if (size === 0 || !(middle > 0)) return [];
    const percent = (share: number) => (100 * quantile(slices, share)) / middle;
    const [low, quarter, threeQuarters, high] = [0, 0.25, 0.75, 1].map(percent) as [
      number,
      number,
      number,
      number,
    ];
    return [{ size, slices, low, quarter, threeQuarters, high }];
  });
}

function marks(run: Run, spreads: readonly Spread[]) {
  const fill = colourOf(run);
  // A band of a single point would have no width.
  const alone = { x: 'size', stroke: fill, strokeWidth: 8 } as const;
  if (spreads.length === 1) {
    const ends = (names: readonly (keyof Spread)[]) =>
      spreads.flatMap((spread) => names.map((name) => ({ size: spread.size, y: spread[name] })));
    return [
      line(ends(['low', 'high']), { ...alone, y: 'y', strokeOpacity: 0.25 }),
      line(ends(['quarter', 'threeQuarters']), { ...alone, y: 'y', strokeOpacity: 0.6 }),
    ];
  }
  return [
    areaY(spreads, { x: 'size', y1: 'low', y2: 'high', fill, fillOpacity: 0.22 }),
    areaY(spreads, { x: 'size', y1: 'quarter', y2: 'threeQuarters', fill, fillOpacity: 0.5 }),
    ruleY([100], { stroke: fill, strokeWidth: 1.5 }),
  ];
}

function spreadTable(run: Run, spreads: readonly Spread[]): Html {
  const head = html`<tr><th scope="col">bytes</th><th scope="col">slices</th><th scope="col">slowest</th>
<th scope="col">median</th><th scope="col">fastest</th><th scope="col">spread</th>
<th scope="col" class="text">course</th></tr>`;
  const rows = spreads.map(
    ({
      size,
      slices,
      low,
      high,
    }) => html`<tr><th scope="row">${sizeText(size)}</th><td>${slices.length}</td>
<td>${decimalText(Math.min(...slices))}</td><td>${decimalText(median(slices))}</td>
<td>${decimalText(Math.max(...slices))}</td><td>${wholeText(high - low)} %</td>
<td class="text">${course(run, slices)}</td></tr>`,
  );
  return table(`MB/s of the slices of ${run.name}, and how far apart they are`, head, rows);
}

// The axis starts at 0, so that small changes look small.
function course(run: Run, slices: readonly number[]): Html {
  const points = slices.map((y, x) => ({ x, y }));
  return draw({
    width: 110,
    height: 20,
    margin: 2,
    axis: null,
    y: { domain: [0, Math.max(...slices)] },
    marks: [line(points, { x: 'x', y: 'y', stroke: colourOf(run), strokeWidth: 1.4 })],
  });
}
