import { axisX, axisY, frame, gridY, type Markish, type ScaleOptions } from '../../vendor/plot.js';
import { sizeText } from '../shared/perf-table.js';
import { shortText } from './format.js';

/** A scale with its axis. */
export interface Axis {
  readonly scale: ScaleOptions;
  readonly marks: readonly Markish[];
}

/** A logarithmic axis with ticks at 1, 2 and 5, or at decades if there are many. */
export function logAxis(values: readonly number[], label: string): Axis {
  const positive = values.filter((value) => value > 0);
  const low = Math.min(...positive) / 1.15;
  const high = Math.max(...positive) * 1.15;
  const decades = Math.log10(high / low);
  const digits = decades > 4 ? [1] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    ticks.push(...digits.map((digit) => Number((digit * 10 ** power).toPrecision(3))));
  }
  const decadeTicks = ticks.filter((tick) => tick >= low && tick <= high);
  const within = decadeTicks.length > 2 ? decadeTicks : roundTicks(low, high);
  return verticalAxis({ type: 'log', domain: [low, high] }, within, label);
}

/** Three to six round values. */
function roundTicks(low: number, high: number): number[] {
  const power = 10 ** Math.floor(Math.log10((high - low) / 3));
  const step =
    [5, 2, 1].map((digit) => digit * power).find((each) => (high - low) / each >= 3) ?? power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(6)));
}

/** A linear axis. By default it reaches from 0 to slightly above the largest value. */
export function linearAxis(values: readonly number[], label: string, domain?: number[]): Axis {
  const high = Math.max(...values, 0) || 1;
  return verticalAxis({ domain: domain ?? [0, high * 1.05] }, 6, label);
}

/** The axis of sizes: ticks at powers of two. */
export function sizeAxis(sizes: readonly number[], width: number): Axis {
  const low = Math.min(...sizes);
  const high = Math.max(...sizes);
  const powers: number[] = [];
  for (let power = Math.ceil(Math.log2(low)); 2 ** power <= high; power++) powers.push(power);
  const every = Math.ceil(powers.length / (width > 400 ? 12 : 6));
  const ticks = powers.filter((power) => power % every === 0).map((power) => 2 ** power);
  const axis = axisX({
    ticks: ticks.length > 0 ? ticks : [low],
    text: sizeText,
    label: 'bytes per transfer',
    labelAnchor: 'center',
  });
  const domain = low === high ? [low / 2, high * 2] : [low, high];
  return {
    scale: { type: 'log', base: 2, domain, axis: null },
    marks: [axis, frame({ anchor: 'bottom' })],
  };
}

/** The axis of seconds, from 0. */
export function timeAxis(seconds: number): Axis {
  const axis = axisX({ ticks: 6, text: shortText, label: 'seconds', labelAnchor: 'center' });
  return {
    scale: { domain: [0, seconds], axis: null },
    marks: [axis, frame({ anchor: 'bottom' })],
  };
}

// Labels are passed as strings, because a logarithmic scale drops some labels of tickFormat.
function verticalAxis(scale: ScaleOptions, ticks: number | number[], label: string): Axis {
  const marks = [gridY({ ticks }), axisY({ ticks, text: shortText, tickSize: 0, label })];
  return { scale: { ...scale, axis: null }, marks };
}
