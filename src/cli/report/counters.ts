import { sizeText } from '../shared/perf-table.js';
import type { BenchmarkRow } from '../shared/result.js';
import { wholeText } from './format.js';
import { figuresOfEach, type Html, html, section, table } from './html.js';
import type { Run } from './run.js';

/** The device's counters for each run. */
export function countersSection(all: readonly Run[]): Html | undefined {
  const runs = all.filter((run) => run.rows.some(({ counters }) => counters !== undefined));
  if (runs.length === 0) return undefined;
  const tables = figuresOfEach(runs.map((run) => ({ name: run.name, figures: counterTable(run) })));
  return section(
    'Counters of the device',
    html`<p>The increase of each counter while a size ran. Counters that did not change are left out.</p>`,
    tables,
  );
}

/** The error counters that grew in a run: lost, repeated and failed work. */
export function troubles({ rows }: Run): { name: string; total: number }[] {
  return grown(rows)
    .filter(isTrouble)
    .map((name) => ({
      name,
      total: rows.reduce((sum, { counters }) => sum + (counters?.[name] ?? 0), 0),
    }));
}

// Names from amzn-drivers' efa_verbs.c.
function isTrouble(name: string): boolean {
  return /(_err$|_errs?_|^rx_drops$|^retrans_|^unresponsive_|^impaired_|^cmds_err$)/.test(name);
}

function grown(rows: readonly BenchmarkRow[]): string[] {
  const changed = rows.flatMap(({ counters = {} }) =>
    Object.keys(counters).filter((name) => counters[name] !== 0),
  );
  return [...new Set(changed)].sort();
}

function counterTable(run: Run): Html {
  const names = grown(run.rows);
  const caption = `Counters of ${run.name}`;
  if (names.length === 0) return html`<p>${caption}: none grew.</p>`;
  const mark = (name: string) => isTrouble(name) && html` class="trouble"`;
  const head = html`<tr><th scope="col">bytes</th>${names.map(
    (name) => html`<th scope="col"${mark(name)}><code>${name}</code></th>`,
  )}</tr>`;
  const body = run.rows.map(({ size, counters }) => {
    const cells = names.map((name) => {
      const value = counters?.[name];
      return html`<td${value !== 0 && mark(name)}>${value === undefined ? '' : wholeText(value)}</td>`;
    });
    return html`<tr><th scope="row">${sizeText(size)}</th>${cells}</tr>`;
  });
  return table(caption, head, body);
}
