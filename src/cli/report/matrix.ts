import type { MatrixResult } from '../shared/result.js';
import {
  type RankSpeed,
  rankSpeeds,
  slowPairs,
  speedOf,
  typicalValue,
} from '../shared/slow-ranks.js';
import { shortText, wholeText } from './format.js';
import { heatMap, heatOf, quantityText, unitOf } from './heat-map.js';
import { details, type Html, html, type Part, section, table } from './html.js';
import type { NamedMatrix } from './run.js';

const MOST_TABLE_RANKS = 32;
const MOST_PAIRS = 10;

/** Every pair of ranks, and the slow ranks and pairs. */
export function matrixSection(matrix: NamedMatrix): Html {
  const ranks = rankSpeeds(matrix);
  const typical = typicalValue(matrix);
  if (Number.isNaN(typical)) return section(matrix.name, html`<p>It has no figures.</p>`);
  return section(
    matrix.name,
    html`<p>${ranks.length} ranks; the median pair has ${shortText(typical)} ${unitOf(matrix)}.</p>`,
    findings(matrix, ranks),
    html`<div class="charts beside">${heatMap(matrix, ranks)}${details('Ranks', rankTable(matrix, ranks), true)}</div>`,
    ranks.length <= MOST_TABLE_RANKS && details('Pairs', pairTable(matrix, typical)),
  );
}

function findings(matrix: MatrixResult, ranks: readonly RankSpeed[]): Html {
  const slow = ranks.filter((rank) => rank.slow);
  const pairs = slowPairs(matrix, ranks);
  if (slow.length + pairs.length === 0)
    return html`<p class="fine">No rank and no pair stands out.</p>`;
  const percent = (speed: number) =>
    Number.isNaN(speed) ? 'nothing' : `at ${wholeText(100 * speed)} %`;
  const left = pairs.length - MOST_PAIRS;
  return html`<ul class="findings">${slow.map(
    ({
      rank,
      host,
      sendSpeed,
      receiveSpeed,
    }) => html`<li><strong>Rank ${rank}</strong> (${host}) is slow: it sends
${percent(sendSpeed)} and receives ${percent(receiveSpeed)} of the median pair’s speed.</li>`,
  )}${pairs.slice(0, MOST_PAIRS).map(
    ({
      sender,
      receiver,
      speed,
    }) => html`<li><strong>${sender} to ${receiver}</strong> is slow, though its ranks
are not: ${percent(speed)} of the median pair’s speed.</li>`,
  )}${left > 0 && html`<li>and ${left} more pairs.</li>`}</ul>`;
}

function rankTable(matrix: MatrixResult, ranks: readonly RankSpeed[]): Html {
  const head = html`<tr><th scope="col">rank</th><th scope="col" class="text">host</th>
<th scope="col">sends</th><th scope="col">of median</th><th scope="col">receives</th><th scope="col">of median</th></tr>`;
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
<td>${figureText(sends)}</td>${heatCell(percentText(sendSpeed), sendSpeed)}
<td>${figureText(receives)}</td>${heatCell(percentText(receiveSpeed), receiveSpeed)}</tr>`,
  );
  return table(`Median of each rank, in ${unitOf(matrix)}`, head, rows);
}

function pairTable(matrix: MatrixResult, typical: number): Html {
  const head = html`<tr><th scope="col">sender</th>${matrix.ranks.map(
    ({ rank }) => html`<th scope="col">${rank}</th>`,
  )}</tr>`;
  const rows = matrix.ranks.map(({ rank }, i) => {
    const cells = matrix.values[i]?.map((value, j) => {
      if (i === j) return html`<td>–</td>`;
      return value === null
        ? heatCell('failed', undefined)
        : heatCell(shortText(value), speedOf(value, typical, matrix.metric));
    });
    return html`<tr><th scope="row">${rank}</th>${cells}</tr>`;
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
