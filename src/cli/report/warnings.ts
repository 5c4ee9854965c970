import { troubles } from './counters.js';
import { wholeText } from './format.js';
import { type Html, html } from './html.js';
import type { NamedMatrix, Run } from './run.js';

const MOST_NAMES = 4;

/** Warnings about the figures; undefined if there are none. */
export function warningsSection(
  runs: readonly Run[],
  matrices: readonly NamedMatrix[],
): Html | undefined {
  const found = new Map<string, string[]>();
  const warn = (text: string, name: string) => found.set(text, [...(found.get(text) ?? []), name]);
  for (const { name, warnings, device } of [...runs, ...matrices]) {
    for (const text of warnings) warn(text, name);
    if (device?.software && !warnings.some((text) => /software|emulated/i.test(text))) {
      warn('Measured on a software device: its speed is not that of hardware.', name);
    }
  }
  for (const run of runs) {
    if (run.rows.length === 0) warn('It has no rows.', run.name);
    const counts = troubles(run).map(({ name, total }) => `${name} ${wholeText(total)}`);
    if (counts.length > 0) warn(`The device counted trouble: ${counts.join(', ')}.`, run.name);
    for (const text of differences(run, runs[0] ?? run)) warn(text, run.name);
  }
  if (found.size === 0) return undefined;
  const items = [...found].map(
    ([text, names]) => html`<li>${text} <span class="who">${listText(new Set(names))}</span></li>`,
  );
  return html`<section class="warnings" aria-labelledby="warnings"><h2 id="warnings">Warnings</h2><ul>${items}</ul></section>`;
}

function listText(names: ReadonlySet<string>): string {
  const shown = [...names].slice(0, MOST_NAMES);
  const left = names.size - shown.length;
  return shown.join(', ') + (left > 0 ? ` and ${left} more` : '');
}

// Differences to the baseline because of which a ratio does not compare the same work.
function differences(run: Run, baseline: Run): string[] {
  const facts = (one: Run): Record<string, unknown> => ({
    benchmark: one.command.replace(/^fi_/, '').replaceAll('_', '-'), // fabtests' name of the same benchmark
    operation: one.operation,
    window: one.options?.window,
    verify: one.options?.verify,
  });
  const [here, there] = [facts(run), facts(baseline)];
  if (here.benchmark !== there.benchmark) {
    return [
      `Not the benchmark of the first run, ${baseline.command}: ratios compare different work.`,
    ];
  }
  return Object.keys(here)
    .filter((name) => here[name] !== undefined && there[name] !== undefined)
    .filter((name) => here[name] !== there[name])
    .map((name) => `${name} is ${here[name]}, and ${there[name]} in the first run.`);
}
