// Tables of the rounds that were run.
import { ACTIONS, EVENTS, MOMENTS } from './plan.mjs';

/** @param outcomes of round.mjs */
export function tableOf(outcomes) {
  const rows = EVENTS.map((event) => [
    event,
    ...ACTIONS.map((action) => {
      const cell = outcomes.filter(
        ({ planned }) => planned.event === event && planned.action === action,
      );
      const counts = MOMENTS.map((m) => cell.filter(({ planned }) => planned.moment === m).length);
      const failed = cell.filter(({ failures }) => failures.length > 0).length;
      return `${counts.join('/')}${failed ? `, ${failed} FAILED` : ''}`;
    }),
  ]);
  return aligned([['before/while/after', ...ACTIONS], ...rows]);
}

/** The worst figures of each provider. */
export function worstOf(outcomes) {
  const providers = [...new Set(outcomes.map(({ planned }) => planned.provider))];
  const rows = providers.map((provider) => {
    const own = outcomes.filter(({ planned }) => planned.provider === provider);
    const worst = (name) => Math.max(0, ...own.map((outcome) => outcome[name])).toFixed();
    const failed = own.filter(({ failures }) => failures.length > 0).length;
    const sum = (name) => own.reduce((all, outcome) => all + outcome[name], 0);
    return [
      provider,
      own.length,
      failed,
      sum('operations'),
      sum('parked'),
      ...['late', 'close', 'stall'].map(worst),
    ].map(String);
  });
  const header = ['provider', 'rounds', 'failed', 'operations', 'domains parked'];
  const figures = ['late, ms', 'close beyond timeout, ms', 'event loop blocked, ms'];
  return aligned([[...header, ...figures], ...rows]);
}

function aligned(rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
