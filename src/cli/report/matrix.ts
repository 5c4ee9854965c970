import {
  hostsOf,
  type PairPlace,
  PairSpeeds,
  PLACE_TEXT,
  placeOf,
  type RankSpeed,
  rankSpeeds,
  SLOW,
  slowPairs,
  speedOf,
} from '../shared/slow-ranks.js';
import { shortText, wholeText } from './format.js';
import { heatMap, heatOf, medianText, quantityText, unitOf } from './heat-map.js';
import { details, type Html, html, type Part, section, table } from './html.js';
import type { NamedMatrix } from './run.js';

const MOST_TABLE_RANKS = 32;
const MOST_PAIRS = 10;

/** Every pair of ranks, and the slow ranks and pairs. */
export function matrixSection(matrix: NamedMatrix): Html {
  const speeds = new PairSpeeds(matrix);
  const ranks = rankSpeeds(speeds);
  if (speeds.pairs.length === 0) return section(matrix.name, html`<p>It has no figures.</p>`);
  const hosts = hostsOf(ranks);
  return section(
    matrix.name,
    html`<p>${ranks.length} ranks on ${hosts === 1 ? 'one host' : `${hosts} hosts`}; the median pair has
${medianText(speeds, speeds.medians)}.</p>`,
    findings(speeds, ranks),
    html`<div class="charts beside">${heatMap(speeds, ranks)}${details('Ranks', rankTable(speeds, ranks), true)}</div>`,
    ranks.length <= MOST_TABLE_RANKS && details('Pairs', pairTable(speeds)),
  );
}

function findings(speeds: PairSpeeds, ranks: readonly RankSpeed[]): Html {
  const { matrix, failed, places } = speeds;
  const slow = ranks.filter((rank) => rank.slow);
  const pairs = slowPairs(speeds, ranks);
  if (slow.length + pairs.length + failed === 0)
    return html`<p class="fine">No rank and no pair is slow: each has at least ${100 * SLOW} % of the median pair’s
speed.</p>`;
  const percent = (speed: number) =>
    Number.isNaN(speed) ? 'nothing' : `at ${wholeText(100 * speed)} %`;
  const medianOf = (place: PairPlace) =>
    places.length > 1
      ? `of the speed of the median pair ${PLACE_TEXT[place]}`
      : 'of the median pair’s speed';
  const left = pairs.length - MOST_PAIRS;
  const nameOf = (at: number) => matrix.ranks[at]?.rank;
  return html`<ul class="findings">${
    failed > 0 &&
    html`<li><strong>${failed} ${failed === 1 ? 'pair has' : 'pairs have'}</strong> no figure.</li>`
  }${slow.map(
    ({
      rank,
      host,
      sendSpeed,
      receiveSpeed,
    }) => html`<li><strong>Rank ${rank}</strong> (${host}) is slow: it sends
${percent(sendSpeed)} and receives ${percent(receiveSpeed)} of the median pair’s speed.</li>`,
  )}${pairs.slice(0, MOST_PAIRS).map(
    ({
      from,
      to,
      speed,
      place,
    }) => html`<li><strong>${nameOf(from)} to ${nameOf(to)}</strong> is slow, though its ranks
are not: ${percent(speed)} ${medianOf(place)}.</li>`,
  )}${left > 0 && html`<li>and ${left} more pairs.</li>`}</ul>`;
}

function rankTable(speeds: PairSpeeds, ranks: readonly RankSpeed[]): Html {
  const { matrix, places } = speeds;
  const columns = (verb: string) =>
    places.map(
      (place) =>
        html`<th scope="col">${verb}${places.length > 1 && html`<br>${PLACE_TEXT[place]}`}</th>`,
    );
  const share = html`<th scope="col">of median</th>`;
  const head = html`<tr><th scope="col">rank</th><th scope="col" class="text">host</th>
${columns('sends')}${share}${columns('receives')}${share}</tr>`;
  const cells = (values: RankSpeed['sends'], speed: number) =>
    html`${places.map((place) => html`<td>${figureText(values[place])}</td>`)}${heatCell(percentText(speed), speed)}`;
  const rows = ranks.map(
    ({
      rank,
      host,
      sends,
      sendSpeed,
      receives,
      receiveSpeed,
      slow,
    }) => html`<tr${slow && html` class="slow"`}>
<th scope="row">${rank}${slow && ' (slow)'}</th><td class="text">${host}</td>
${cells(sends, sendSpeed)}${cells(receives, receiveSpeed)}</tr>`,
  );
  return table(`Median of each rank, in ${unitOf(matrix)}`, head, rows);
}

function pairTable(speeds: PairSpeeds): Html {
  const { matrix, medians } = speeds;
  const head = html`<tr><th scope="col">sender</th>${matrix.ranks.map(
    ({ rank }) => html`<th scope="col">${rank}</th>`,
  )}</tr>`;
  const rows = matrix.ranks.map((sender, i) => {
    const cells = matrix.ranks.map((receiver, j) => {
      if (i === j) return html`<td>–</td>`;
      const value = matrix.values[i]?.[j] ?? null;
      return value === null
        ? heatCell('failed', undefined)
        : heatCell(shortText(value), speedOf(matrix, value, medians[placeOf(sender, receiver)]));
    });
    return html`<tr><th scope="row">${sender.rank}</th>${cells}</tr>`;
  });
  return table(
    `${quantityText(matrix)}: a row for each sender, a column for each receiver`,
    head,
    rows,
  );
}

function heatCell(content: Part, speed: number | undefined): Html {
  return html`<td style="background:var(--${heatOf(speed)});color:var(--ink)">${content}</td>`;
}

function figureText(value: number): string {
  return Number.isNaN(value) ? '' : shortText(value);
}

function percentText(speed: number): string {
  return Number.isNaN(speed) ? '' : `${wholeText(100 * speed)} %`;
}
