import type { Finding, Status } from './diagnosis.js';
import type { Machine } from './machine.js';

/** The outcome of a check. Omitted members default to the check's text. */
export interface Outcome {
  readonly status: Status;
  readonly found: string;
  readonly fix?: string;
  readonly expected?: string;
  readonly why?: string;
}

/** One property of a machine that the doctor checks. */
export interface Check {
  readonly id: string;
  readonly title: string;
  readonly expected: string;
  readonly why: string;
  /**
   * The machines on which the check matters: all, those with an EFA, or those with EFA hardware. On
   * others it is skipped unless its status is ok.
   */
  readonly matters: 'always' | 'with-efa' | 'with-hardware';
  look(machine: Machine): Outcome;
}

/** Checks that belong together, under a heading. */
export interface Group {
  readonly title: string;
  readonly checks: readonly Check[];
}

export const ok = (found: string): Outcome => ({ status: 'ok', found });
export const skipped = (found: string): Outcome => ({ status: 'skipped', found });

type More = Pick<Outcome, 'expected' | 'why'>;
const problem =
  (status: Status) =>
  (found: string, fix: string, more?: More): Outcome => ({ status, found, fix, ...more });

export const note = problem('note');
export const warning = problem('warning');
export const error = problem('error');

/** Runs the checks of a group on a machine. */
export function examine(group: Group, machine: Machine): Finding[] {
  return group.checks.map((check) => {
    const outcome = relevant(check, machine, check.look(machine));
    return findingOf(check, group.title, outcome);
  });
}

export function findingOf(
  { id, title, expected, why }: Omit<Check, 'look' | 'matters'>,
  group: string,
  outcome: Outcome,
): Finding {
  const { status, found, fix = null } = outcome;
  return {
    id,
    group,
    title,
    status,
    found,
    expected: outcome.expected ?? expected,
    why: outcome.why ?? why,
    fix,
  };
}

function relevant({ matters }: Check, { efa }: Machine, outcome: Outcome): Outcome {
  if (outcome.status === 'ok' || matters === 'always') return outcome;
  const { found, ...rest } = outcome;
  if (efa === 'none') return { ...rest, ...skipped(`${found} (it matters with an EFA)`) };
  if (efa === 'software' && matters === 'with-hardware') {
    return skipped(`${found} (not needed in software)`);
  }
  return outcome;
}
