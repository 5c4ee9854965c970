import { decimalText } from './format.js';
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
  const bounds = ['below', ...LIMITS.map((limit) => `${decimalText(limit)}×`)];
  const steps = bounds.map(
    (bound, i) =>
      html`<li><span class="patch" style="background:var(--heat-${i})"></span>${
        i === 0 ? `below ${bounds[1] ?? ''}` : i === LIMITS.length ? `from ${bound}` : bound
      }</li>`,
  );
  const failed = html`<li><span class="patch" style="background:var(--failed)"></span>no figure</li>`;
  return html`<ul class="legend heat">${steps}${failures && failed}</ul>`;
}
