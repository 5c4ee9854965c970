// The checks of `libfabric doctor`: memory, processes and their placement, with and without findings.
import { memory } from '../../../dist/cli/doctor/checks/memory.js';
import { placement } from '../../../dist/cli/doctor/checks/placement.js';
import { processes } from '../../../dist/cli/doctor/checks/processes.js';
import { sameHost } from '../../../dist/cli/doctor/checks/same-host.js';
import { type FindingCase, type OkCase, testChecks } from '../../support/doctor-checks.js';
import { efaDevice, hugePages, limits, status } from '../../support/fake-machine.js';

const LOCKS = 1n << 14n; // CAP_IPC_LOCK
const MIB = 2 ** 20;

const findingCases: FindingCase[] = [
  [
    'memory.locked',
    'is not enough for an endpoint',
    { files: { 'proc/self/limits': limits(65_536) } },
    'error',
    /^64 KiB/,
    /limits\.d\/efa\.conf[\s\S]*LimitMEMLOCK=infinity[\s\S]*memlock=-1/,
  ],
  [
    'memory.locked',
    'is limited, and may be raised',
    { files: { 'proc/self/limits': limits(2 ** 30, 'unlimited') } },
    'warning',
    /^1 GiB/,
    /^In this shell: ulimit -l unlimited/,
  ],
  [
    'memory.huge-pages',
    'are missing',
    { files: { 'proc/meminfo': hugePages(0, 0) } },
    'warning',
    /^0 of 0 free, 2 MiB/,
    /nr_hugepages=5128/,
  ],
  [
    'memory.huge-pages',
    'are in use',
    { files: { 'proc/meminfo': hugePages(8000, 55) } },
    'warning',
    /^55 of 8000 free/,
    /nr_hugepages=8056/,
  ],
  [
    'memory.regions',
    'are few',
    { devices: [efaDevice({ limits: { maxMr: 32, maxMrSize: 2n ** 30n } })] },
    'warning',
    /32, of 1 GiB/,
    /few large regions/,
  ],
  [
    'memory.regions',
    'were refused',
    { counters: { rdmap0s6: { reg_mr_err: 12n } } },
    'note',
    /12 registrations refused/,
    /hugePages: true/,
  ],
  [
    'processes.fork',
    'is not safe with huge pages on an old kernel',
    {
      files: { 'proc/sys/kernel/osrelease': '5.10.0' },
      env: { FI_EFA_USE_HUGE_PAGE: '1' },
    },
    'error',
    /Linux 5\.10\.0: efa aborts/,
    /FI_EFA_FORK_SAFE=1/,
  ],
  [
    'processes.fork',
    'is not safe if a variable disables support',
    { files: { 'proc/sys/kernel/osrelease': '5.4.0' }, env: { FI_EFA_FORK_SAFE: '0' } },
    'error',
    /efa aborts/,
    /5\.13/,
  ],
  [
    'processes.fork',
    'is requested together with huge pages',
    {
      files: { 'proc/sys/kernel/osrelease': '5.12.9' },
      env: { FI_EFA_FORK_SAFE: '1', RDMAV_HUGEPAGES_SAFE: '1' },
    },
    'error',
    /at once/,
    /unset/,
  ],
  [
    'same-host.ptrace',
    'is restricted',
    { files: { 'proc/sys/kernel/yama/ptrace_scope': 1 } },
    'warning',
    /ptrace_scope 1/,
    /sysctl -w kernel\.yama\.ptrace_scope=0/,
  ],
  [
    'same-host.shm',
    "is Docker's default",
    { sharedMemory: { size: 64 * MIB, free: 30 * MIB } },
    'warning',
    /30 of 64 MiB free, 8 cores/,
    /--shm-size=256m/,
  ],
  [
    'placement.process',
    'are on another node than the device',
    {
      devices: [efaDevice({ numaNode: 1 })],
      files: {
        'sys/devices/system/node/node0/cpulist': '0-3',
        'sys/devices/system/node/node1/cpulist': '4-7',
        'proc/self/status': status(0n, '0,2-3'),
      },
    },
    'warning',
    /cores 0,2-3; rdmap0s6 on node 1/,
    /numactl --cpunodebind=1 --membind=1/,
  ],
];

const okCases: OkCase[] = [
  [
    'memory.locked',
    'is no limit with CAP_IPC_LOCK',
    { files: { 'proc/self/limits': limits(65_536), 'proc/self/status': status(LOCKS, '0-7') } },
    /CAP_IPC_LOCK/,
  ],
  [
    'memory.huge-pages',
    'are not used if a variable disables them',
    { files: { 'proc/meminfo': hugePages(0, 0) }, env: { FI_EFA_USE_HUGE_PAGE: 'off' } },
    /turns them off/,
  ],
  [
    'memory.huge-pages',
    'are not used on a kernel with safe fork',
    { files: { 'proc/meminfo': hugePages(0, 0), 'proc/sys/kernel/osrelease': '5.10.1' } },
    /safe to fork/,
  ],
  [
    'processes.fork',
    'is made safe by this package on an old kernel',
    { files: { 'proc/sys/kernel/osrelease': '5.10.1' } },
    /FI_EFA_FORK_SAFE, which this package sets/,
  ],
  [
    'same-host.ptrace',
    'is unrestricted without Yama',
    { files: { 'proc/sys/kernel/yama': null } },
    /no Yama/,
  ],
  [
    'same-host.ptrace',
    'does not matter without shm',
    {
      files: { 'proc/sys/kernel/yama/ptrace_scope': 3 },
      env: { FI_EFA_ENABLE_SHM_TRANSFER: '0' },
    },
    /not used/,
  ],
  [
    'placement.nic',
    'are listed if there are several',
    {
      devices: [efaDevice({ numaNode: 1 })],
      files: {
        'sys/devices/system/node/node1/cpulist': '8-15',
        'proc/self/status': status(0n, '0-15'),
      },
    },
    /node 1: rdmap0s6/,
  ],
];

// It has no findings.
testChecks([memory, processes, sameHost, placement], findingCases, okCases, ['placement.nic']);
