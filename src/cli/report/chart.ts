import type { Markish, PlotOptions } from '../../vendor/plot.js';
import { type Axis, sizeAxis } from './axes.js';
import { type Html, html } from './html.js';
import { draw } from './svg-document.js';

// Each chart is drawn for wide and narrow pages, and style.ts shows one of the drawings. If one
// drawing were scaled down, its text would be too small to read.
const WIDTHS = { wide: 600, narrow: 340 };
// A chart over time is as wide as the page.
const TIME_WIDTHS = { widest: 1100, ...WIDTHS };

interface AnyChart {
  readonly title: string;
  /** A description for screen readers. */
  readonly description: string;
  readonly y: Axis;
  readonly marks: readonly Markish[];
  /** The legend of this chart only. */
  readonly legend?: Html;
}

/** A chart over sizes. */
export interface SizeChart extends AnyChart {
  /** Every size of the axis, so that adjacent charts have the same axis. */
  readonly sizes: readonly number[];
}

/** A chart over time. */
export interface TimeChart extends AnyChart {
  readonly x: Axis;
}

/** Draws a chart over sizes. */
export function sizeChart({ sizes, ...chart }: SizeChart): Html {
  return chartOver((width) => sizeAxis(sizes, width), chart, WIDTHS);
}

/** Draws a chart over time. */
export function timeChart({ x, ...chart }: TimeChart): Html {
  return chartOver(() => x, chart, TIME_WIDTHS);
}

function chartOver(
  axisAt: (width: number) => Axis,
  { title, description, y, marks, legend }: AnyChart,
  widths: Readonly<Record<string, number>>,
): Html {
  const options = (width: number) => {
    const x = axisAt(width);
    return {
      height: 330,
      marginLeft: 62,
      marginRight: 14,
      marginTop: 26,
      marginBottom: 44,
      x: x.scale,
      y: y.scale,
      marks: [...y.marks, ...x.marks, ...marks],
    };
  };
  return figure(title, description, options, legend, widths);
}

/** A figure with a drawing for each width of pages. */
export function figure(
  title: string,
  description: string,
  options: (width: number) => PlotOptions,
  legend?: Html,
  widths: Readonly<Record<string, number>> = WIDTHS,
): Html {
  const name = `${title}. ${description}`;
  const drawings = Object.entries(widths).map(
    ([place, width]) =>
      html`<div class="${place}">${draw({ ...options(width), width }, name)}</div>`,
  );
  return html`<figure class="chart"><figcaption>${title}</figcaption>${legend}${drawings}</figure>`;
}
