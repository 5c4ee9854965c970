// Fake machines for the checks of `libfabric doctor`: a healthy one with an EFA device, and the changes of a
// test.
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { Files } from '../../dist/cli/doctor/files.js';
import type { Machine } from '../../dist/cli/doctor/machine.js';
import type { Device } from '../../dist/verbs/index.js';
import { FakeSysfs, type Files as FileTree } from './fake-sysfs.js';

const PCI = 'sys/devices/pci0000:00/0000:00:06.0';
const LIB = '/usr/lib/x86_64-linux-gnu';
const MIB = 2 ** 20;

const MAPS = ['libfabric.so.1.20.0', 'libibverbs.so.1.14.44.0', 'libefa.so.1.2.44.0']
  .map((file) => `7f0000000000-7f0000001000 r-xp 00000000 08:01 1234      ${LIB}/${file}`)
  .join('\n');

/** /proc/self/limits, with a limit of locked memory. */
export const limits = (soft: number | 'unlimited', hard: number | 'unlimited' = soft) =>
  'Limit                     Soft Limit           Hard Limit           Units     \n' +
  `Max locked memory         ${soft}            ${hard}            bytes     \n`;

/** /proc/self/status. */
export const status = (capEff: bigint, cores: string) =>
  `CapEff:\t${capEff.toString(16).padStart(16, '0')}\nCpus_allowed_list:\t${cores}`;

/** /proc/meminfo, with huge pages of 2 MiB. */
export const hugePages = (total: number, free: number) =>
  `HugePages_Total:   ${total}\nHugePages_Free:    ${free}\nHugepagesize:       2048 kB`;

const HEALTHY: FileTree = {
  'proc/sys/kernel/osrelease': '6.8.0-1021-aws',
  'proc/sys/kernel/yama/ptrace_scope': 0,
  'proc/self/maps': MAPS,
  'proc/self/limits': limits('unlimited'),
  'proc/self/status': status(0n, '0-7'),
  'proc/meminfo': hugePages(5128, 5000),
  'sys/module/efa/version': '3.3.1',
  'sys/bus/pci/drivers/efa/bind': '',
  [`${PCI}/vendor`]: '0x1d0f',
  [`${PCI}/device`]: '0xefa2',
  [`${PCI}/driver`]: '-> sys/bus/pci/drivers/efa',
  'sys/bus/pci/devices/0000:00:06.0': `-> ${PCI}`,
  'sys/class/infiniband_verbs/uverbs0/device': `-> ${PCI}`,
  'sys/class/infiniband/rdmap0s6/device': `-> ${PCI}`,
  [`${PCI}/p2p`]: 'NVIDIA',
  'etc/modules-load.d/efa.conf': 'efa',
  'dev/infiniband/uverbs0': '',
  'sys/devices/system/node/node0/cpulist': '0-7',
  [`${LIB.slice(1)}/libfabric.so.1.20.0`]: '',
  [`${LIB.slice(1)}/libfabric.so.1`]: `-> ${LIB.slice(1)}/libfabric.so.1.20.0`,
  [`${LIB.slice(1)}/libibverbs/libefa-rdmav34.so`]: '',
  'etc/libibverbs.d/efa.driver': 'driver efa',
};

const EFA = {
  name: 'rdmap0s6',
  pciAddress: '0000:00:06.0',
  numaNode: null,
  driver: 'efa',
  firmware: '0.0.0.0',
  vendorId: 0x1d0f,
  limits: { maxMr: 262_144, maxMrSize: 2n ** 40n },
  ports: [{ number: 1, state: 'ACTIVE', speed: 100 }],
  efa: { capabilities: ['RDMA_READ', 'RDMA_WRITE'] },
  accelerators: [],
  emulated: false,
  error: null,
} as unknown as Device;

/** Returns the EFA device of the machine with the changes of a test. */
export const efaDevice = (changes: object = {}): Device => ({ ...EFA, ...changes }) as Device;

/** Returns a NIC of another vendor. */
export const foreignDevice = (): Device =>
  efaDevice({ name: 'mlx5_0', vendorId: 0x15b3, driver: 'mlx5_core', efa: null });

/** Returns a loaded library with the changes of a test. */
export function loadedLibrary(changes: object = {}): Machine['library'] {
  const param = (name: string, type: string) => ({ name, type, helpString: '', value: null });
  const loaded = {
    version: '1.17.0',
    path: `${LIB}/libfabric.so.1.20.0`,
    params: [
      param('FI_PROVIDER', 'FI_PARAM_STRING'),
      param('FI_EFA_TX_SIZE', 'FI_PARAM_SIZE_T'),
      param('FI_EFA_FORK_SAFE', 'FI_PARAM_BOOL'),
      param('FI_SHM_TX_SIZE', 'FI_PARAM_SIZE_T'),
      param('FI_TCP_PORT_LOW_RANGE', 'FI_PARAM_INT'),
    ],
    efaDomains: ['rdmap0s6-rdm'],
    ...changes,
  };
  return { loaded, error: null } as unknown as Machine['library'];
}

/** The changes of a test: files that are written or removed (null), and members of the machine. */
export interface Changes extends Partial<Omit<Machine, 'files'>> {
  readonly files?: Readonly<Record<string, string | number | null>>;
}

/** Makes a machine. Its files are removed when the test ends. */
export function fakeMachine({ files = {}, ...changes }: Changes = {}): Machine {
  const fake = new FakeSysfs();
  onTestFinished(() => fake.remove());
  const removed = Object.keys(files).filter((path) => files[path] === null);
  const changed = Object.fromEntries(Object.entries(files).filter(([, text]) => text !== null));
  const kept = Object.entries(HEALTHY).filter(([path]) => !(path in changed));
  fake.put({ ...Object.fromEntries(kept), ...changed } as FileTree);
  for (const path of removed) rmSync(`${fake.root}/${path}`, { recursive: true });
  return {
    files: new Files(fake.root),
    env: {},
    library: loadedLibrary(),
    devices: [EFA],
    absence: null,
    efa: 'hardware',
    counters: { rdmap0s6: { reg_mr_err: 0n, rx_drops: 7n } },
    sharedMemory: { size: 32_768 * MIB, free: 32_000 * MIB },
    cores: 8,
    trials: [
      { domain: 'rdmap0s6-rdm', failure: null, rdma: { reads: 'device', writes: 'device' } },
    ],
    ...changes,
  };
}
