import { type Check, error, type Group, ok, skipped } from '../check.js';
import { isOn } from '../environment-variables.js';
import { inUse, rdmaCoreRelease } from '../libraries.js';
import { atLeast } from '../library.js';
import type { Machine } from '../machine.js';

// Since these the kernel copies registered pages on fork, and rdma-core knows.
const KERNEL = '5.13';
const RDMA_CORE = '35';

/** What stands between efa and a fork of its process. */
export type ForkSupport =
  /** The kernel sees to it. */
  | 'unneeded'
  /** rdma-core keeps registered pages from the child. */
  | 'enabled'
  /** efa aborts the process. */
  | 'missing'
  /** efa does not open, or aborts at once: asked for together with huge pages. */
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
  // This package asks for it where nothing is said.
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
  why: 'efa aborts a process that forks where that could spoil registered memory; child_process forks.',
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
        return error(`${kernel}: to be safe and to use huge pages is asked for at once`, FIX);
      case 'unknown':
        return skipped('the release of rdma-core is not known');
    }
  },
};

export const processes: Group = { title: 'Processes', checks: [fork] };
