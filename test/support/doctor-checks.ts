// Tests groups of checks of `libfabric doctor` on fake machines.
import { expect, test } from 'vitest';
import type { Group } from '../../dist/cli/doctor/check.js';
import type { Diagnosis, Finding } from '../../dist/cli/doctor/diagnosis.js';
import { type DiagnosisOptions, diagnosisOf } from '../../dist/cli/doctor/examine.js';
import { type Changes, fakeMachine } from './fake-machine.js';

/** A check on a changed machine, with a finding. */
export type FindingCase = [
  id: string,
  what: string,
  changes: Changes,
  status: 'note' | 'warning' | 'error',
  found: RegExp,
  fix: RegExp,
];

/** A check on a changed machine, without a finding. */
export type OkCase = [id: string, what: string, changes: Changes, found: RegExp];

/** Returns the report on a healthy machine with some changes. */
export const reportOf = (changes: Changes = {}, options?: DiagnosisOptions): Diagnosis =>
  diagnosisOf(fakeMachine(changes), new Date(), options);

export function findingOf(id: string, changes: Changes): Finding {
  const finding = reportOf(changes).findings.find((each) => each.id === id);
  if (finding === undefined) throw new Error(`there is no check ${id}`);
  return finding;
}

/** Tests each case, and that every check of the groups except `others` has a case with a finding. */
export function testChecks(
  groups: readonly Group[],
  findingCases: FindingCase[],
  okCases: OkCase[],
  others: readonly string[] = [],
): void {
  test.each(findingCases)('%s: %s', (id, _, changes, status, found, fix) => {
    const finding = findingOf(id, changes);
    expect(finding).toMatchObject({ status });
    expect(finding.found).toMatch(found);
    expect(finding.fix).toMatch(fix);
  });

  test.each(okCases)('%s: %s', (id, _, changes, found) => {
    const finding = findingOf(id, changes);
    expect(finding).toMatchObject({ status: 'ok', fix: null });
    expect(finding.found).toMatch(found);
  });

  test('every check of the group has a case with a finding', () => {
    const all = groups.flatMap((group) => group.checks.map(({ id }) => id));
    const covered = new Set(findingCases.map(([id]) => id));
    expect(all.filter((id) => !covered.has(id))).toEqual(others);
  });
}
