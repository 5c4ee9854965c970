// What `libfabric check` prints.
import { NAMES } from './arguments.js';
import type { Outcome } from './suite.js';

const WIDTH = Math.max(...NAMES.map(({ length }) => length)) + 2;

/** A check's line. */
export const lineOf = ({ name, outcome, detail }: Outcome) =>
  name.padEnd(WIDTH) + outcome.padEnd(9) + detail.replaceAll('\n', ' ');

/** All of it, as --json writes it. */
export function totalsOf(checks: readonly Outcome[]) {
  const count = (which: Outcome['outcome']) =>
    checks.filter(({ outcome }) => outcome === which).length;
  const verdicts = checks.flatMap(({ server, client }) => [server, client]);
  const { provider = null } = verdicts.find((verdict) => verdict.provider) ?? {};
  return {
    provider,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    checks,
  };
}

/** The last line. */
export function summaryOf(outcomes: readonly Outcome[]): string {
  const { provider, passed, failed, skipped } = totalsOf(outcomes);
  const over = provider === null ? '' : ` over ${provider}`;
  return `${outcomes.length} checks${over}: ${passed} passed, ${failed} failed, ${skipped} skipped`;
}
