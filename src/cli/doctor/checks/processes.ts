import { type Check, error, type Group, ok, skipped } from '../check.js';
import { isOn } from '../environment-variables.js';
import { inUse, rdmaCoreRelease } from '../libraries.js';
import { atLeast } from '../library.js';
import type { Machine } from '../machine.js';

// Since these releases the kernel copies registered pages on fork, and rdma-core detects this.
const KERNEL = '5.13';
const RDMA_CORE = '35';

/** How a fork of a process that uses efa is protected. */
export type ForkSupport =
  /** The kernel handles it. */
  | 'unneeded'
  /** rdma-core keeps registered pages from the child. */
  | 'enabled'
  /** efa aborts the process. */
  | 'missing'
  /** Fork support is requested together with huge pages: efa does not open, or aborts at once. */
  | 'contradicted'
  | 'unknown';

export function forkSupport(machine: Machine): ForkSupport {
  const { env, files } = machine;
  const kernel = files.text('/proc/sys/kernel/osrelease');
  const path = inUse(machine, 'libibverbs');
  const release = path === undefined ? null : rdmaCoreRelease(path);
  if (kernel === null || release === null) return 'unknown';
  if (unneeded(machine, kernel, release)) return 'unneeded';
  const huge = isOn(env.FI_EFA_USE_HUGE_PAGE) || env.RDMAV_HUGEPAGES_SAFE !== undefined;
  const asked =
    isOn(env.FI_EFA_FORK_SAFE) ||
    env.RDMAV_FORK_SAFE !== undefined ||
    env.IBV_FORK_SAFE !== undefined;
  if (asked) return huge ? 'contradicted' : 'enabled';
  // This package enables fork support if no variable is set.
  return huge || env.FI_EFA_FORK_SAFE !== undefined ? 'missing' : 'enabled';
}

function unneeded({ efa, env }: Machine, kernel: string, release: string): boolean {
  if (efa === 'software') return (env.SOFTEFA_FORK_STATUS ?? '2') === '2';
  return atLeast(kernel, KERNEL) && atLeast(release, RDMA_CORE);
}

const FIX =
  `Use Linux ${KERNEL} or newer with rdma-core ${RDMA_CORE} or newer. Or:\n` +
  'unset FI_EFA_USE_HUGE_PAGE RDMAV_HUGEPAGES_SAFE; export FI_EFA_FORK_SAFE=1';

const fork: Check = {
  id: 'processes.fork',
  title: 'Starting processes',
  expected: `Linux ${KERNEL} and rdma-core ${RDMA_CORE} or newer, or FI_EFA_FORK_SAFE=1`,
  why: 'efa aborts a process that forks if this could corrupt registered memory; child_process forks.',
  matters: 'with-efa',
  look(machine) {
    const kernel = `Linux ${machine.files.text('/proc/sys/kernel/osrelease') ?? 'unknown'}`;
    switch (forkSupport(machine)) {
      case 'unneeded':
        return ok(`${kernel}: safe`);
      case 'enabled':
        return ok(
          `${kernel}: safe by FI_EFA_FORK_SAFE, which this package sets; efa has no huge pages`,
        );
      case 'missing':
        return error(`${kernel}: efa aborts a process that starts another`, FIX);
      case 'contradicted':
        return error(`${kernel}: fork support and huge pages are requested at once`, FIX);
      case 'unknown':
        return skipped('the release of rdma-core is unknown');
    }
  },
};

export const processes: Group = { title: 'Processes', checks: [fork] };
