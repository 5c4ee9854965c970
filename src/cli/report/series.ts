import { dot, line, type Markish } from '../../vendor/plot.js';
import { draw } from './drawing.js';
import { type Html, html } from './html.js';
import type { Run } from './run.js';

const COLOURS = 8; // of style.ts
const SYMBOLS = ['circle', 'square', 'triangle', 'diamond', 'star', 'wye', 'cross'] as const;

/** A point of a chart. */
export interface Point {
  readonly x: number;
  readonly y: number;
  /** What is shown when it is pointed at. */
  readonly title?: string;
}

/** The colour of a run: a CSS value that follows the theme. */
export function colourOf({ index }: Run): string {
  return `var(--series-${(index % COLOURS) + 1})`;
}

/** A run's line and points. Seven symbols and eight colours: 56 runs before two look alike. */
export function seriesMarks(run: Run, points: readonly Point[]): Markish[] {
  const colour = colourOf(run);
  const symbol = SYMBOLS[run.index % SYMBOLS.length] ?? 'circle';
  return [
    line(points, { x: 'x', y: 'y', stroke: colour, strokeWidth: 1.8, strokeLinejoin: 'round' }),
    dot(points, { x: 'x', y: 'y', symbol, r: 3.6, fill: colour, title: 'title' }),
  ];
}

/** A run's line and symbol, for a legend. */
export function key(run: Run): Html {
  const points = [0, 1, 2].map((x) => ({ x, y: 0 }));
  const [stroke, symbol] = [seriesMarks(run, points)[0], seriesMarks(run, points.slice(1, 2))[1]];
  const drawing = draw({ width: 36, height: 14, margin: 2, axis: null, marks: [stroke, symbol] });
  return html`<span class="key">${drawing}</span>`;
}

/** The runs of a section's charts. */
export function legend(runs: readonly Run[]): Html {
  return html`<ul class="legend">${runs.map((run) => html`<li>${key(run)} ${run.name}</li>`)}</ul>`;
}
