// The findings of `libfabric doctor`, as --json prints them. Releases may add members, but never remove one.

/** The result of a check. */
export type Status =
  /** The check has passed. */
  | 'ok'
  /** No problem, but worth knowing. */
  | 'note'
  /** EFA works, but more slowly or at a risk. */
  | 'warning'
  /** libfabric or an EFA does not work, or there is none and it is required. */
  | 'error'
  /** The check does not matter here or its result cannot be determined; `found` says why. */
  | 'skipped';

/** A check and its result. */
export interface Finding {
  /** Its name, which never changes: `'memory.locked'`. */
  readonly id: string;
  /** `'Memory'` */
  readonly group: string;
  /** `'Locked memory'` */
  readonly title: string;
  readonly status: Status;
  readonly found: string;
  /** The expected state. */
  readonly expected: string;
  /** Why it matters. */
  readonly why: string;
  /** How to fix it, with each command on its own line; null if there is nothing to do. */
  readonly fix: string | null;
}

/** Whether programs of this machine can use EFA. */
export type Efa =
  /** An endpoint opens and carries a message. */
  | 'usable'
  /** There is a device, but it cannot be used; the errors say why. */
  | 'unusable'
  /** There is no device. */
  | 'absent';

/** The result of `doctor --json`. */
export interface Diagnosis {
  readonly format: 'libfabric-doctor';
  readonly version: 1;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly host: string;
  readonly efa: Efa;
  /** Whether the devices are in software: softefa. */
  readonly emulated: boolean;
  /** With --peer: the host, and whether a message went there and one came back on every NIC. */
  readonly peer?: { readonly host: string; readonly reached: boolean };
  /** The worst status. The exit code is 0, 1 or 2 accordingly. */
  readonly status: 'ok' | 'warning' | 'error';
  readonly findings: readonly Finding[];
}

/** The worst status of all findings; a note counts as ok. */
export function worstOf(findings: readonly Finding[]): Diagnosis['status'] {
  const has = (status: Status) => findings.some((finding) => finding.status === status);
  if (has('error')) return 'error';
  return has('warning') ? 'warning' : 'ok';
}

export const EXIT_CODES: Readonly<Record<Diagnosis['status'], number>> = {
  ok: 0,
  warning: 1,
  error: 2,
};
