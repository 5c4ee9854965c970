// Draws the samples of a soak: a panel for each resource, with its trend after the warm-up.
import { lineY, plot, ruleY } from '@observablehq/plot';
import { HEAD, panelOf, pictureOfPanels } from '../../bench/harness/panels.mjs';
import { svgDocument } from '../../dist/cli/report/svg-document.js';
import { UNITS } from './sample.mjs';

const LABELS = {
  rss: 'resident memory',
  heap: 'heap',
  external: 'memory outside of the heap',
  descriptors: 'file descriptors',
  threads: 'threads',
  registrations: 'registered regions',
};
const COLUMNS = 2;
const WIDTH = 350;
const HEIGHT = 150;
const GAP = 20;
/** The number of points of a panel. Each is the highest of several successive samples. */
const POINTS = 350;

/**
 * @param {{ samples: Record<string, number>[], trends: Record<string, { slope: number }> }} soak
 * @param {number} from hours: the end of the warm-up
 * @returns the picture as SVG
 */
export function pictureOf({ samples, trends }, from) {
  const after = samples.filter(({ time }) => time > from);
  const panels = Object.entries(LABELS).map(([name, label], i) => {
    const [x, y] = [(i % COLUMNS) * (WIDTH + GAP), Math.floor(i / COLUMNS) * (HEAD + HEIGHT + GAP)];
    const unit = UNITS[name] ? ` in ${UNITS[name]}` : '';
    return panelOf(x, y, label + unit, draw(samples, name, trendLine(after, trends[name], name)));
  });
  const width = COLUMNS * (WIDTH + GAP) - GAP;
  const height = Math.ceil(panels.length / COLUMNS) * (HEAD + HEIGHT + GAP) - GAP;
  return pictureOfPanels('Resources of a process over the hours of a soak', width, height, panels);
}

/** The two ends of the line through the samples after the warm-up: it goes through their mean. */
function trendLine(after, trend, name) {
  if (trend === undefined) return [];
  const mean = (of) => after.reduce((sum, one) => sum + one[of], 0) / after.length;
  const [time, value] = [mean('time'), mean(name)];
  return [after[0].time, after.at(-1).time].map((at) => ({
    time: at,
    [name]: value + trend.slope * (at - time),
  }));
}

function highest(samples, name) {
  const size = Math.ceil(samples.length / POINTS);
  const blocks = Array.from({ length: Math.ceil(samples.length / size) }, (_, i) =>
    samples.slice(i * size, (i + 1) * size),
  );
  return blocks.map((block) => ({
    time: block[0].time,
    [name]: Math.max(...block.map((one) => one[name])),
  }));
}

function draw(samples, name, trend) {
  const svg = plot({
    document: svgDocument(),
    width: WIDTH,
    height: HEIGHT,
    ...{ marginLeft: 40, marginRight: 10, marginTop: 8, marginBottom: 38 },
    x: { label: 'hours', ticks: 5 },
    y: { label: null, ticks: 4, zero: true, nice: true },
    marks: [
      lineY(highest(samples, name), { x: 'time', y: name, stroke: '#2f81f7', strokeWidth: 1 }),
      lineY(trend, { x: 'time', y: name, stroke: '#d1242f', strokeWidth: 1.5 }),
      ruleY([0]),
    ],
  });
  return svg.markup;
}
