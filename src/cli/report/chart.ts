import type { Markish, PlotOptions } from '../../vendor/plot.js';
import { type Axis, sizeAxis } from './axes.js';
import { type Html, html } from './html.js';
import { draw } from './svg-document.js';

// Each chart is drawn twice, for wide and narrow pages, and style.ts shows one of them. If one
// drawing were scaled down, its text would be too small to read.
const WIDTHS = { wide: 600, narrow: 340 };

/** A chart over sizes. */
export interface ChartOptions {
  readonly title: string;
  /** A description for screen readers. */
  readonly description: string;
  /** Every size of the axis, so that adjacent charts have the same axis. */
  readonly sizes: readonly number[];
  readonly y: Axis;
  readonly marks: readonly Markish[];
  /** The legend of this chart only. */
  readonly legend?: Html;
}

/** Draws a chart over sizes. */
export function sizeChart({ title, description, sizes, y, marks, legend }: ChartOptions): Html {
  const options = (width: number) => {
    const x = sizeAxis(sizes, width);
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
  return figure(title, description, options, legend);
}

/** A figure with a drawing for wide and one for narrow pages. */
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
