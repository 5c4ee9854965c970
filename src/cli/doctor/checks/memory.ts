import { type Check, error, type Group, note, ok, skipped, warning } from '../check.js';
import { isOff } from '../environment-variables.js';
import { isEfa, type Machine } from '../machine.js';
import { forkSupport } from './processes.js';

const MIB = 2 ** 20;
// The memory that 1.17 locks for an endpoint: 74 MB to receive, 37 MB to send.
const LOCKED = 106 * MIB;
/** The same in huge pages. */
const ENDPOINT = 112 * MIB;
const CAP_IPC_LOCK = 14n;

export const locked: Check = {
  id: 'memory.locked',
  title: 'Locked memory',
  expected: 'unlimited',
  why:
    `Memory that a device reads or writes is locked: ${LOCKED / MIB} MiB for each endpoint of efa, and all that ` +
    'is registered. Past the limit registrations fail (FI_ENOMEM), or every operation does.',
  matters: 'with-efa',
  look({ files }) {
    const limits = files.text('/proc/self/limits') ?? '';
    const [, soft, hard] = /^Max locked memory +(\w+) +(\w+)/m.exec(limits) ?? [];
    if (soft === undefined || hard === undefined)
      return skipped('/proc/self/limits does not report it');
    if (soft === 'unlimited') return ok(soft);
    if (mayLockAll(files.text('/proc/self/status') ?? '')) {
      return ok(`${sizeText(Number(soft))}, which does not bind this user (CAP_IPC_LOCK)`);
    }
    const found = `${sizeText(Number(soft))} (ulimit -l)`;
    return (Number(soft) < LOCKED ? error : warning)(found, lockedFix(hard));
  },
};

function lockedFix(hard: string): string {
  return [
    ...(hard === 'unlimited' ? ['In this shell: ulimit -l unlimited'] : []),
    'For users, from the next login on:',
    String.raw`printf '* soft memlock unlimited\n* hard memlock unlimited\n' | sudo tee /etc/security/limits.d/efa.conf`,
    'For a service of systemd: LimitMEMLOCK=infinity',
    'Docker: docker run --ulimit memlock=-1 ...',
  ].join('\n');
}

/** Whether a process has CAP_IPC_LOCK: /proc/self/status. */
function mayLockAll(status: string): boolean {
  const [, mask] = /^CapEff:\s*([\da-f]+)$/m.exec(status) ?? [];
  return mask !== undefined && ((BigInt(`0x${mask}`) >> CAP_IPC_LOCK) & 1n) === 1n;
}

const hugePages: Check = {
  id: 'memory.huge-pages',
  title: 'Huge pages',
  expected: `at least ${ENDPOINT / MIB} MiB free for each endpoint`,
  why:
    'efa allocates its buffers from them, and silently falls back to small pages. Those take longer to\n' +
    'register, and the number of pages of a device is limited.',
  matters: 'with-hardware',
  look(machine) {
    const { files, env } = machine;
    const memory = files.text('/proc/meminfo') ?? '';
    const [total, free, kib] = ['HugePages_Total', 'HugePages_Free', 'Hugepagesize'].map((name) => {
      const [, value] = new RegExp(`^${name}: +(\\d+)`, 'm').exec(memory) ?? [];
      return value === undefined ? null : Number(value);
    });
    if (total == null || free == null || kib == null)
      return skipped('the kernel has no huge pages');
    const found = `${free} of ${total} free, ${kib / 1024} MiB each`;
    if (isOff(env.FI_EFA_USE_HUGE_PAGE)) return ok(`${found}; FI_EFA_USE_HUGE_PAGE turns them off`);
    if (forkSupport(machine) === 'enabled')
      return ok(`${found}; none used while efa is safe to fork`);
    if (free * kib * 1024 >= ENDPOINT) return ok(found);
    const pages = Math.max(total + Math.ceil(ENDPOINT / kib / 1024), 5128);
    return warning(
      found,
      `sudo sysctl -w vm.nr_hugepages=${pages}     # as the EFA installer does, for many endpoints\n` +
        `echo 'vm.nr_hugepages=${pages}' | sudo tee /etc/sysctl.d/90-efa.conf\n` +
        'Kubernetes: resources: { limits: { hugepages-2Mi: 5120Mi } }',
    );
  },
};

// An endpoint of 1.17 needs fewer.
const LEAST_REGIONS = 64;

const regions: Check = {
  id: 'memory.regions',
  title: 'Memory regions',
  expected: `room for ${LEAST_REGIONS} and more, and none refused so far`,
  why:
    'Each registered buffer is a region, including cached ones. The number of regions and of pages of a\n' +
    'device is limited.',
  matters: 'with-efa',
  look(machine) {
    const known = machine.devices.filter(isEfa).flatMap(({ name, limits }) => {
      return limits === null ? [] : [{ name, limits }];
    });
    if (known.length === 0) return skipped('no device reports it');
    const found = known
      .map(
        ({ name, limits }) => `${name}: ${limits.maxMr}, of ${sizeText(Number(limits.maxMrSize))}`,
      )
      .join('; ');
    const few = known.some(({ limits }) => limits.maxMr < LEAST_REGIONS);
    if (few)
      return warning(
        found,
        'Open few endpoints, and register few large regions instead of many small ones.',
      );
    const refused = refusedRegions(machine);
    if (refused === 0n) return ok(found);
    return note(
      `${found}; ${refused} registrations refused since the driver was loaded`,
      'If those were yours: raise the locked-memory limit, register less at a time, and have it on huge\n' +
        'pages: domain.allocate(length, access, { hugePages: true }).',
    );
  },
};

function refusedRegions({ devices, counters }: Machine): bigint {
  const refused = devices.filter(isEfa).map(({ name }) => counters[name]?.reg_mr_err ?? 0n);
  return refused.reduce((sum, count) => sum + count, 0n);
}

function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  const power = bytes === 0 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  return `${Number((bytes / 1024 ** power).toPrecision(3))} ${units[power]}`;
}

export const memory: Group = { title: 'Memory', checks: [locked, hugePages, regions] };
