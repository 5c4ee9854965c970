import { hostname } from 'node:os';
import { examine, type Group } from './check.js';
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
  device,
  kernel,
  libfabric,
  rdmaCore,
  provider,
  memory,
  processes,
  sameHost,
  placement,
  environment,
];

/** Runs all checks. `more` contains further findings: those of the probe of a peer. */
export function diagnosisOf(
  machine: Machine,
  startedAt: Date,
  more: readonly Finding[] = [],
): Diagnosis {
  const findings = [...GROUPS.flatMap((group) => examine(group, machine)), ...more];
  return {
    format: 'libfabric-doctor',
    version: 1,
    startedAt: startedAt.toISOString(),
    host: hostname(),
    efa: efaOf(machine),
    emulated: machine.efa === 'software',
    status: worstOf(findings),
    findings,
  };
}

function efaOf({ efa, trials }: Machine): Efa {
  if (efa === 'none') return 'absent';
  const works = trials.length > 0 && trials.every(({ failure }) => failure === null);
  return works ? 'usable' : 'unusable';
}
