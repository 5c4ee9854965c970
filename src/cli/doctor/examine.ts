import { hostname } from 'node:os';
import { examine, type Group } from './check.js';
import { accelerators } from './checks/accelerators.js';
import { device } from './checks/device.js';
import { environment } from './checks/environment.js';
import { kernel } from './checks/kernel.js';
import { libfabric } from './checks/libfabric.js';
import { memory } from './checks/memory.js';
import { placement } from './checks/placement.js';
import { processes } from './checks/processes.js';
import { provider } from './checks/provider.js';
import { rdmaCore } from './checks/rdma-core.js';
import { sameHost } from './checks/same-host.js';
import { type Diagnosis, type Efa, type Finding, worstOf } from './diagnosis.js';
import type { Machine } from './machine.js';

/** All groups, in the order in which they are printed. */
export const GROUPS: readonly Group[] = [
  libfabric,
  device,
  kernel,
  rdmaCore,
  provider,
  memory,
  processes,
  sameHost,
  placement,
  accelerators,
  environment,
];

/** Options of a diagnosis. */
export interface DiagnosisOptions {
  /** Whether a machine without an EFA is an error. */
  readonly requireEfa?: boolean;
  /** The probed peer. */
  readonly peer?: { readonly host: string; readonly findings: readonly Finding[] };
}

/** Runs all checks. */
export function diagnosisOf(
  machine: Machine,
  startedAt: Date,
  { requireEfa = false, peer }: DiagnosisOptions = {},
): Diagnosis {
  const own = GROUPS.flatMap((group) => examine(group, machine));
  const required = requireEfa && machine.efa === 'none' ? own.map(asRequired) : own;
  const findings = [...required, ...(peer?.findings ?? [])];
  return {
    format: 'libfabric-doctor',
    version: 1,
    startedAt: startedAt.toISOString(),
    host: hostname(),
    efa: efaOf(machine),
    emulated: machine.efa === 'software',
    ...(peer && { peer: { host: peer.host, reached: worstOf(peer.findings) !== 'error' } }),
    status: worstOf(findings),
    findings,
  };
}

// --require efa: the note that the machine has no EFA becomes an error.
function asRequired(finding: Finding): Finding {
  return finding.id === 'device.present' ? { ...finding, status: 'error' } : finding;
}

function efaOf({ efa, trials }: Machine): Efa {
  if (efa === 'none') return 'absent';
  const works = trials.length > 0 && trials.every(({ failure }) => failure === null);
  return works ? 'usable' : 'unusable';
}
