import { axisX, axisY, rect, text } from '../../vendor/plot.js';
import { sizeText } from '../shared/perf-table.js';
import type { MatrixRank, MatrixResult } from '../shared/result.js';
import {
  type ByPlace,
  type PairSpeeds,
  PLACE_TEXT,
  placeOf,
  type RankSpeed,
  speedOf,
} from '../shared/slow-ranks.js';
import { figure } from './chart.js';
import { decimalText, ratioText, shortText } from './format.js';
import { type Html, html } from './html.js';

// Up to this number, every pair is a cell with its figures. Above it, neighbours of one colour are
// merged into one cell, so that a browser can display the page of a thousand ranks.
const MOST_SINGLE_CELLS = 64 ** 2;

const MARGINS = { left: 58, top: 58, right: 8, bottom: 8 };

const LARGEST_CELL = 44;

// Figures are drawn into cells up to this number of ranks, if the cells are wide enough.
const MOST_RANKS_WITH_FIGURES = 16;
const FIGURE_WIDTH = 27;

interface Cell {
  readonly x1: number;
  readonly x2: number;
  readonly y1: number;
  readonly y2: number;
  readonly heat: string;
  readonly title?: string;
  readonly figure?: string;
}

/** A row for each sender and a column for each receiver, and the median of each rank. */
export function heatMap(speeds: PairSpeeds, ranks: readonly RankSpeed[]): Html {
  const { matrix } = speeds;
  const count = ranks.length;
  const pairs = pairCells(speeds);
  const cells = mergedCells(pairs);
  const diagonal = count ** 2 > MOST_SINGLE_CELLS ? [] : ranks.map((_, i) => i);
  const strip = Math.ceil(count / 40); // width of the gap and of the medians, in cells
  const medians = medianCells(speeds, ranks, strip);
  const slow = ranks.flatMap((rank, i) => (rank.slow ? [i] : []));
  const failures = cells.some(({ heat }) => heat === 'failed');
  const end = count + 2 * strip;
  const sign = { fill: 'var(--slow)', ariaLabel: 'slow' } as const;
  const description = `Speed of ${count} by ${count} pairs of ranks against the median pair; figures are below.`;
  const options = (width: number) => {
    const side = Math.min(width - MARGINS.left - MARGINS.right, end * LARGEST_CELL);
    const cell = side / end;
    const every = Math.ceil((8 * String(ranks.at(-1)?.rank).length + 8) / cell);
    const ticks = ranks.map((_, i) => i).filter((i) => i % every === 0);
    const labels = {
      tickSize: 0,
      tickFormat: (i: number) => String(ranks[i]?.rank),
      labelAnchor: 'center',
      labelArrow: 'none',
    } as const;
    const box = (ariaLabel: string) => ({
      x1: 'x1',
      x2: 'x2',
      y1: 'y1',
      y2: 'y2',
      fill: ({ heat }: Cell) => `var(--${heat})`,
      inset: cell > 9 ? 0.5 : 0,
      title: 'title',
      ariaLabel,
    });
    return {
      height: side + MARGINS.top + MARGINS.bottom,
      marginLeft: MARGINS.left,
      marginTop: MARGINS.top,
      marginRight: width - MARGINS.left - side,
      marginBottom: MARGINS.bottom,
      x: { domain: [0, end], axis: null },
      y: { domain: [end, 0], axis: null },
      color: { type: 'identity' as const },
      marks: [
        axisX(ticks, { ...labels, anchor: 'top', dx: cell / 2, label: 'receiver' }),
        axisY(ticks, { ...labels, anchor: 'left', dy: cell / 2, label: 'sender', labelOffset: 48 }),
        rect(diagonal, {
          ...{
            x1: (i: number) => i,
            x2: (i: number) => i + 1,
            y1: (i: number) => i,
            y2: (i: number) => i + 1,
          },
          inset: cell > 9 ? 0.5 : 0,
          fill: 'none',
          stroke: 'var(--rule)',
          ariaLabel: 'diagonal',
        }),
        rect(cells, box('pairs')),
        ...(count <= MOST_RANKS_WITH_FIGURES && cell >= FIGURE_WIDTH
          ? [figures([...pairs, ...diagonal.map(ofItself)], cell)]
          : []),
        rect(medians, box('medians')),
        text(['median'], {
          x: count + 1.5 * strip,
          y: 0,
          dx: 1,
          dy: -8,
          rotate: -90,
          textAnchor: 'start',
        }),
        text(['median'], { x: 0, y: count + 1.5 * strip, dx: -6, textAnchor: 'end' }),
        text(slow, { ...sign, x: count + strip / 2, y: (i: number) => i + 0.5, text: () => '◀' }),
        text(slow, { ...sign, x: (i: number) => i + 0.5, y: count + strip / 2, text: () => '▲' }),
      ],
    };
  };
  const title = `${quantityText(matrix)} of ${sizeText(matrix.size)} bytes between ranks`;
  return figure(title, description, options, heatLegend(failures));
}

const ofItself = (i: number): Cell => ({
  x1: i,
  x2: i + 1,
  y1: i,
  y2: i + 1,
  heat: '',
  figure: '–',
});

/** The figures in their cells. */
function figures(cells: readonly Cell[], cell: number) {
  return text(cells, {
    x: ({ x1 }: Cell) => x1 + 0.5,
    y: ({ y1 }: Cell) => y1 + 0.5,
    text: 'figure',
    fill: 'currentColor',
    fontSize: cell >= 38 ? 11 : 9.5,
    pointerEvents: 'none',
  });
}

/** At most five characters: `'0.42'`, `'41.2'`, `'954'`, `'6238'`, `'12.3k'`. */
function cellText(value: number): string {
  if (value >= 10_000) return `${Number((value / 1000).toPrecision(3))}k`;
  return value >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** The quantity of a matrix and its unit, in words. */
export function quantityText(matrix: MatrixResult): string {
  return `${matrix.metric === 'us' ? 'Time per transfer' : 'Bandwidth'} (${unitOf(matrix)})`;
}

/** The unit of a matrix. */
export function unitOf({ metric }: MatrixResult): string {
  return metric === 'us' ? 'µs' : metric;
}

function pairCells(speeds: PairSpeeds): Cell[] {
  const { matrix, medians, places } = speeds;
  const { ranks } = matrix;
  return matrix.values.flatMap((row, i) =>
    row.flatMap((value, j) => {
      if (i === j) return [];
      const place = placeOf(ranks[i] as MatrixRank, ranks[j] as MatrixRank);
      const speed = value === null ? undefined : speedOf(matrix, value, medians[place]);
      const what = value === null ? 'no figure' : `${decimalText(value)} ${unitOf(matrix)}`;
      const where = places.length > 1 ? ` ${PLACE_TEXT[place]}` : '';
      const ratio = speed === undefined ? '' : `, ${ratioText(speed)} of the median pair${where}`;
      const names = [i, j].map((at) => `${ranks[at]?.rank} (${ranks[at]?.host})`);
      const title = `${names.join(' to ')}\n${what}${ratio}`;
      const figure = value === null ? 'none' : cellText(value);
      return [{ x1: j, x2: j + 1, y1: i, y2: i + 1, heat: heatOf(speed), title, figure }];
    }),
  );
}

function mergedCells(cells: Cell[]): Cell[] {
  if (cells.length <= MOST_SINGLE_CELLS) return cells;
  const merged: Cell[] = [];
  for (const { title: _, figure: __, ...cell } of cells) {
    const last = merged.at(-1);
    const joins = last?.y1 === cell.y1 && last.x2 === cell.x1 && last.heat === cell.heat;
    if (joins) merged[merged.length - 1] = { ...last, x2: cell.x2 };
    else merged.push(cell);
  }
  return merged;
}

function medianCells(speeds: PairSpeeds, ranks: readonly RankSpeed[], strip: number): Cell[] {
  const [from, to] = [ranks.length + strip, ranks.length + 2 * strip];
  return ranks.flatMap(({ rank, sends, sendSpeed, receives, receiveSpeed }, i) => {
    const title = (verb: string, values: ByPlace, speed: number) =>
      `${rank} ${verb}, median: ${medianText(speeds, values)}, ${ratioText(speed)}`;
    const sending = title('sends', sends, sendSpeed);
    const receiving = title('receives', receives, receiveSpeed);
    return [
      { x1: from, x2: to, y1: i, y2: i + 1, heat: heatOf(sendSpeed), title: sending },
      { x1: i, x2: i + 1, y1: from, y2: to, heat: heatOf(receiveSpeed), title: receiving },
    ];
  });
}

/** `'954.00 MB/s within a host, 120.00 MB/s between hosts'` */
export function medianText({ matrix, places }: PairSpeeds, values: ByPlace): string {
  const texts = places.map((place) => {
    const where = places.length > 1 ? ` ${PLACE_TEXT[place]}` : '';
    return `${shortText(values[place])} ${unitOf(matrix)}${where}`;
  });
  return texts.join(', ');
}

// Orange is less than half the speed of the median pair, blue more than twice; the middle is
// neutral.
const LIMITS = [0.5, 0.7, 0.85, 0.95, 1.05, 1.18, 1.43, 2];

/** The colour name in style.ts for a speed; `'failed'` if there is none. */
export function heatOf(speed: number | undefined): string {
  if (speed === undefined || Number.isNaN(speed)) return 'failed';
  const at = LIMITS.findIndex((limit) => speed < limit);
  return `heat-${at === -1 ? LIMITS.length : at}`;
}

/** The legend of the colours. */
export function heatLegend(failures: boolean): Html {
  const steps = LIMITS.concat(Number.POSITIVE_INFINITY).map((limit, i) => {
    const from = LIMITS[i - 1];
    const range =
      from === undefined ? `< ${limit}` : i === LIMITS.length ? `≥ ${from}` : `${from}–${limit}`;
    return html`<li><span class="patch" style="background:var(--heat-${i})"></span>${range}</li>`;
  });
  const failed = html`<li><span class="patch" style="background:var(--failed)"></span>no figure</li>`;
  return html`<ul class="legend heat"><li>speed, as a multiple of the median pair’s:</li>${steps}${failures && failed}</ul>`;
}
