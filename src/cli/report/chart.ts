import type { Markish, PlotOptions } from '../../vendor/plot.js';
import { sizeText } from '../perf-table.js';
import { draw } from './drawing.js';
import { shortText } from './format.js';
import { type Html, html } from './html.js';

// Drawn twice, for wide and for narrow places (style.ts shows one of them): a picture that is merely
// made smaller has letters too small to read.
const WIDTHS = { wide: 600, narrow: 340 };

/** A chart over sizes. */
export interface ChartOptions {
  readonly title: string;
  /** What it shows, for those who do not see it. */
  readonly description: string;
  /** Every size of the chart, so that charts side by side have the same axis. */
  readonly sizes: readonly number[];
  readonly y: NonNullable<PlotOptions['y']>;
  readonly marks: readonly Markish[];
  /** Of this chart alone. */
  readonly legend?: Html;
}

/** Draws a chart over sizes. */
export function sizeChart({ title, description, sizes, y, marks, legend }: ChartOptions): Html {
  const options = (width: number) => ({
    height: 330,
    marginLeft: 62,
    marginRight: 14,
    marginTop: 26,
    marginBottom: 44,
    x: {
      ...sizeAxis(sizes, width),
      label: 'bytes per transfer',
      labelAnchor: 'center',
      line: true,
    } as const,
    y: { grid: true, tickSize: 0, ...y },
    marks: [...marks],
  });
  return figure(title, description, options, legend);
}

/** A figure with a drawing for wide and one for narrow places. */
export function figure(
  title: string,
  description: string,
  options: (width: number) => PlotOptions,
  legend?: Html,
): Html {
  const name = `${title}. ${description}`;
  const drawings = Object.entries(WIDTHS).map(
    ([place, width]) =>
      html`<div class="${place}">${draw({ ...options(width), width }, name)}</div>`,
  );
  return html`<figure class="chart"><figcaption>${title}</figcaption>${legend}${drawings}</figure>`;
}

/** A logarithmic axis that has room for what it measures, with ticks at 1, 2 and 5 or at decades. */
export function logAxis(values: readonly number[], label: string) {
  const positive = values.filter((value) => value > 0);
  const low = Math.min(...positive) / 1.15;
  const high = Math.max(...positive) * 1.15;
  const decades = Math.log10(high / low);
  const digits = decades > 2.5 ? [1] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    ticks.push(...digits.map((digit) => Number((digit * 10 ** power).toPrecision(3))));
  }
  const shown = ticks.filter((tick) => tick >= low && tick <= high);
  return { type: 'log', domain: [low, high], ticks: shown, tickFormat: shortText, label } as const;
}

/** A linear axis from 0. */
export function linearAxis(values: readonly number[], label: string) {
  const high = Math.max(...values, 0) || 1;
  return { domain: [0, high * 1.05], ticks: 6, tickFormat: shortText, label } as const;
}

function sizeAxis(sizes: readonly number[], width: number) {
  const low = Math.min(...sizes);
  const high = Math.max(...sizes);
  const powers: number[] = [];
  for (let power = Math.ceil(Math.log2(low)); 2 ** power <= high; power++) powers.push(power);
  const every = Math.ceil(powers.length / (width > 400 ? 12 : 6));
  const ticks = powers.filter((power) => power % every === 0).map((power) => 2 ** power);
  return {
    type: 'log',
    base: 2,
    domain: low === high ? [low / 2, high * 2] : [low, high],
    ticks: ticks.length > 0 ? ticks : [low],
    tickFormat: sizeText,
  } as const;
}
