import { type Check, type Group, ok, skipped, warning } from '../check.js';
import { isOff } from '../environment-variables.js';

const MIB = 2 ** 20;
// What open() asks for: a region of the shm provider with queues of the default size, one for each endpoint.
const REGION = 16 * MIB;

const ptrace: Check = {
  id: 'same-host.ptrace',
  title: 'Copies between processes',
  expected: 'kernel.yama.ptrace_scope = 0, or no Yama',
  why:
    'Within a host efa uses shm. If ptrace is permitted, shm copies directly from process to process.\n' +
    'Otherwise it copies twice.',
  matters: 'with-efa',
  look({ files, env }) {
    if (isOff(env.FI_EFA_ENABLE_SHM_TRANSFER))
      return ok('not used: FI_EFA_ENABLE_SHM_TRANSFER is off');
    const scope = files.number('/proc/sys/kernel/yama/ptrace_scope');
    if (scope === null) return ok('no Yama');
    if (scope === 0) return ok('ptrace_scope 0');
    return warning(
      `ptrace_scope ${scope}`,
      'sudo sysctl -w kernel.yama.ptrace_scope=0\n' +
        "echo 'kernel.yama.ptrace_scope = 0' | sudo tee /etc/sysctl.d/10-ptrace.conf",
    );
  },
};

export const sharedMemory: Check = {
  id: 'same-host.shm',
  title: '/dev/shm',
  expected: `${REGION / MIB} MiB free for each core`,
  why: 'shm keeps a region there for each endpoint, and offers no endpoint if less is free.',
  matters: 'always',
  look({ sharedMemory: space, cores }) {
    if (space === null) return skipped('there is no /dev/shm');
    const free = `${Math.floor(space.free / MIB)} of ${Math.floor(space.size / MIB)} MiB free`;
    const needed = cores * REGION;
    if (space.free >= needed) return ok(free);
    const wanted = Math.ceil(Math.max(2 * needed, space.size) / MIB);
    return warning(
      `${free}, ${cores} cores`,
      `To see its content: ls -l /dev/shm. To enlarge it:\nsudo mount -o remount,size=${wanted}m /dev/shm\n` +
        `Docker: docker run --shm-size=${wanted}m ...`,
      { expected: `${needed / MIB} MiB free: ${REGION / MIB} for each core` },
    );
  },
};

export const sameHost: Group = { title: 'Within a host', checks: [ptrace, sharedMemory] };
