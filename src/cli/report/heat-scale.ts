import { type Html, html } from './html.js';

// From less than half as fast as the median pair to more than twice: orange over neutral to blue.
const LIMITS = [0.5, 0.7, 0.85, 0.95, 1.05, 1.18, 1.43, 2];

/** The class of style.ts for a speed; `'failed'` where there is none. */
export function heatOf(speed: number | undefined): string {
  if (speed === undefined || Number.isNaN(speed)) return 'failed';
  const at = LIMITS.findIndex((limit) => speed < limit);
  return `heat-${at === -1 ? LIMITS.length : at}`;
}

/** What the colours mean. */
export function heatLegend(failures: boolean): Html {
  const steps = LIMITS.concat(Number.POSITIVE_INFINITY).map((limit, i) => {
    const from = LIMITS[i - 1];
    const range =
      from === undefined ? `< ${limit}` : i === LIMITS.length ? `≥ ${from}` : `${from}–${limit}`;
    return html`<li><span class="patch" style="background:var(--heat-${i})"></span>${range}</li>`;
  });
  const failed = html`<li><span class="patch" style="background:var(--failed)"></span>no figure</li>`;
  return html`<ul class="legend heat"><li>speed, of the median pair’s:</li>${steps}${failures && failed}</ul>`;
}
