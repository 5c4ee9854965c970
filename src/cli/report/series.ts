import { dot, line, type Markish } from '../../vendor/plot.js';
import { type Html, html } from './html.js';
import { draw } from './svg-document.js';

const COLOURS = 8; // of style.ts
const SYMBOLS = ['circle', 'square', 'triangle', 'diamond', 'star', 'wye', 'cross'] as const;

/** The data behind a line of a chart: a run, or a NIC of a run. */
export interface Series {
  /** Its index in the chart. */
  readonly index: number;
  readonly name: string;
}

/** A point of a chart. */
export interface Point {
  readonly x: number;
  readonly y: number;
  /** The tooltip. */
  readonly title?: string;
}

/** The colour of a series: a CSS value that follows the theme. */
export function colourOf({ index }: Series): string {
  return `var(--series-${(index % COLOURS) + 1})`;
}

/** A line and its points. Seven symbols and eight colours distinguish 56 series. */
export function seriesMarks(series: Series, points: readonly Point[]): Markish[] {
  const colour = colourOf(series);
  const symbol = SYMBOLS[series.index % SYMBOLS.length] ?? 'circle';
  return [
    line(points, { x: 'x', y: 'y', stroke: colour, strokeWidth: 1.8, strokeLinejoin: 'round' }),
    dot(points, { x: 'x', y: 'y', symbol, r: 3.6, fill: colour, title: 'title' }),
  ];
}

/** The line and symbol of a series, for a legend. */
export function key(series: Series): Html {
  const points = [0, 1, 2].map((x) => ({ x, y: 0 }));
  const [[stroke], [, symbol]] = [
    seriesMarks(series, points),
    seriesMarks(series, points.slice(1, 2)),
  ];
  const drawing = draw({ width: 36, height: 14, margin: 2, axis: null, marks: [stroke, symbol] });
  return html`<span class="key">${drawing}</span>`;
}

/** A line without symbols, for a legend. */
export function lineKey(stroke: string): Html {
  const points = [0, 1].map((x) => ({ x, y: 0 }));
  const mark = line(points, { x: 'x', y: 'y', stroke, strokeWidth: 1.8 });
  const drawing = draw({ width: 36, height: 14, margin: 2, axis: null, marks: [mark] });
  return html`<span class="key">${drawing}</span>`;
}

/** The legend of a section's charts. */
export function legend(all: readonly Series[]): Html {
  return html`<ul class="legend">${all.map((series) => html`<li>${key(series)} ${series.name}</li>`)}</ul>`;
}
