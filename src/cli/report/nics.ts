import { sizeText } from '../shared/perf-table.js';
import type { BenchmarkRow } from '../shared/result.js';
import { SLOW } from '../shared/slow-ranks.js';
import { median } from '../shared/statistics.js';
import { logAxis } from './axes.js';
import { sizeChart } from './chart.js';
import { rowsBySize } from './compare.js';
import { decimalText } from './format.js';
import { charts, figuresOfEach, type Html, html, section, table } from './html.js';
import type { Run } from './run.js';
import { key, legend, type Series, seriesMarks } from './series.js';

/** The bandwidth of each of several NICs: a chart for each run that shows slow NICs. */
export function nicsSection(all: readonly Run[]): Html | undefined {
  const runs = all.map((run) => ({ run, nics: nicsOf(run) })).filter(({ nics }) => nics.length > 0);
  if (runs.length === 0) return undefined;
  return section(
    'NICs',
    html`<p>All at once, each by its own clock.</p>`,
    charts(runs.map(({ run, nics }) => nicChart(run, nics))),
    figuresOfEach(runs.map(({ run, nics }) => ({ name: run.name, figures: nicTable(run, nics) }))),
  );
}

function nicsOf({ rows }: Run): Series[] {
  const names = new Set(rows.flatMap(({ nics = [] }) => nics.map(({ name }) => name)));
  return [...names].map((name, index) => ({ index, name }));
}

function rateOf({ nics = [] }: BenchmarkRow, { name }: Series): number | undefined {
  return nics.find((nic) => nic.name === name)?.megabytesPerSecond;
}

function nicChart(run: Run, nics: readonly Series[]): Html | undefined {
  const series = nics.map((nic) => ({
    nic,
    points: run.rows.flatMap((row) => {
      const y = rateOf(row, nic);
      if (!y || row.size === 0) return []; // the axes are logarithmic
      return [
        { x: row.size, y, title: `${nic.name}\n${sizeText(row.size)}: ${decimalText(y)} MB/s` },
      ];
    }),
  }));
  const points = series.flatMap((one) => one.points);
  if (points.length === 0) return undefined;
  return sizeChart({
    title: run.name,
    description:
      'MB/s of each NIC over bytes per transfer, both logarithmic; the table has the figures.',
    sizes: points.map(({ x }) => x),
    y: logAxis(
      points.map(({ y }) => y),
      'MB/s',
    ),
    marks: series.flatMap((one) => seriesMarks(one.nic, one.points)),
    legend: legend(nics),
  });
}

function nicTable(run: Run, nics: readonly Series[]): Html {
  const head = html`<tr><th scope="col">bytes</th>${nics.map(
    (nic) => html`<th scope="col">${key(nic)} ${nic.name}</th>`,
  )}</tr>`;
  const body = [...rowsBySize(run).values()].map((row) => {
    const rates = nics.map((nic) => rateOf(row, nic));
    const typical = median(rates.filter((rate) => rate !== undefined));
    return html`<tr><th scope="row">${sizeText(row.size)}</th>${rates.map((rate) => {
      if (rate === undefined) return html`<td></td>`;
      return html`<td${rate < SLOW * typical && html` class="slower"`}>${decimalText(rate)}</td>`;
    })}</tr>`;
  });
  const share = `${100 * SLOW} %`;
  return table(
    `MB/s of each NIC of ${run.name}; below ${share} of the median one is marked`,
    head,
    body,
  );
}
