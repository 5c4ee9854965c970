// Draws the figures that a user decides by, for README: bars for the medians of each contender.
import { barX, plot, ruleX, text } from '@observablehq/plot';
import { svgDocument } from '../dist/cli/report/svg-document.js';
import { MIB } from './figures.mjs';
import { HEAD, panelOf, pictureOfPanels } from './harness/panels.mjs';
import { median } from './harness/results.mjs';

const LABELS = {
  'C++': 'libfabric in C++',
  'prepared, manual': 'libfabric, manual driver',
  'prepared, loop': 'libfabric, loop driver',
  'prepared, thread': 'libfabric, thread driver',
  'node:net': 'node:net, TCP',
  'zeromq tcp': 'zeromq, TCP',
  'zeromq ipc': 'zeromq, IPC',
};
const PANELS = [
  {
    title: 'Half round trip at 64 B in µs: shorter is better',
    group: 'half round trip',
    size: 64,
    value: (us) => us,
  },
  {
    title: 'Bandwidth of sends at 1 MiB in GB/s: longer is better',
    group: 'send bandwidth',
    size: MIB,
    value: (us) => MIB / us / 1000,
  },
];
const WIDTH = 720;
const ROW = 24;
const GAP = 10;

/** The picture as SVG, or undefined if the samples lack one of its groups. */
export function pictureOf(samples) {
  const panels = PANELS.map((panel) => ({ ...panel, rows: rowsOf(samples, panel) }));
  if (panels.some(({ rows }) => rows.length < 2)) return undefined;
  let y = 0;
  const drawn = panels.map((panel) => {
    const top = y;
    y += HEAD + ROW * panel.rows.length + GAP;
    return panelOf(0, top, panel.title, draw(panel.rows));
  });
  const title = 'Latency and bandwidth, compared with node:net, zeromq and C++';
  return pictureOfPanels(title, WIDTH, y, drawn);
}

function rowsOf(samples, { group, size, value }) {
  return Object.entries(LABELS).flatMap(([contender, label]) => {
    const series = samples.find(
      (one) => one.group === group && one.contender === contender && one.size === size,
    );
    return series ? [{ label, value: value(median(series.rounds.flat())) }] : [];
  });
}

function draw(rows) {
  const shown = (row) => row.value.toFixed(row.value < 10 ? 2 : 1);
  const own = ({ label }) => label.startsWith('libfabric,');
  const svg = plot({
    document: svgDocument(),
    width: WIDTH,
    height: ROW * rows.length,
    ...{ marginLeft: 190, marginRight: 60, marginTop: 0, marginBottom: 0 },
    x: { axis: null },
    y: { label: null, tickSize: 0, domain: rows.map(({ label }) => label) },
    marks: [
      barX(rows, {
        x: 'value',
        y: 'label',
        fill: (row) => (own(row) ? '#2f81f7' : '#8b949e'),
        insetTop: 3,
        insetBottom: 3,
      }),
      text(rows, { x: 'value', y: 'label', text: shown, dx: 6, textAnchor: 'start' }),
      ruleX([0]),
    ],
  });
  return svg.markup;
}
