// What `libfabric doctor` has found, as --json prints it. Members are added to it, none is taken away.

/** What a check has come to. */
export type Status =
  /** As it should be. */
  | 'ok'
  /** Fine, and worth knowing. */
  | 'note'
  /** EFA works, but more slowly or at a risk; or there is none. */
  | 'warning'
  /** EFA does not work. */
  | 'error'
  /** It does not matter here, or cannot be known: `found` says why. */
  | 'skipped';

/** One check and what it has found. */
export interface Finding {
  /** Its name, which stays: `'memory.locked'`. */
  readonly id: string;
  /** `'Memory'` */
  readonly group: string;
  /** `'Locked memory'` */
  readonly title: string;
  readonly status: Status;
  readonly found: string;
  /** What it should be. */
  readonly expected: string;
  /** Why it matters. */
  readonly why: string;
  /** What to do, commands on lines of their own; null where there is nothing to do. */
  readonly fix: string | null;
}

/** Whether programs of this machine can use EFA. */
export type Efa =
  /** An endpoint opens and carries a message. */
  | 'usable'
  /** There is a device, and something stands in its way: see the errors. */
  | 'unusable'
  /** There is no device. */
  | 'absent';

export interface Diagnosis {
  readonly format: 'libfabric-doctor';
  readonly version: 1;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly host: string;
  readonly efa: Efa;
  /** Whether the devices are in software: softefa. */
  readonly emulated: boolean;
  /** The worst status, which the exit code stands for: 0, 1, 2. */
  readonly status: 'ok' | 'warning' | 'error';
  readonly findings: readonly Finding[];
}

/** The worst of all: what is worth a note is fine. */
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
