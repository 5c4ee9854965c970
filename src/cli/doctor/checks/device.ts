import { type Check, error, type Group, note, ok, skipped } from '../check.js';
import { atLeast } from '../library.js';
import { efasOnPci, isEfa, type Machine } from '../machine.js';

const efas = ({ devices }: Machine) => devices.filter(isEfa);
const namesOf = (devices: readonly { readonly name: string }[]) =>
  devices.map(({ name }) => name).join(', ');

const present: Check = {
  id: 'device.present',
  title: 'An EFA on this machine',
  expected: 'a network interface of type EFA, for programs that use efa',
  why: 'The provider efa needs one. The providers tcp, shm and udp work without it.',
  matters: 'always',
  look(machine) {
    const { efa, files } = machine;
    if (efa === 'software') return ok(`${namesOf(efas(machine))}, in software (softefa)`);
    if (efa === 'hardware') {
      const addresses = efas(machine).map(({ pciAddress }) => pciAddress ?? '?');
      return ok(`on PCI: ${[...new Set([...efasOnPci(files), ...addresses])].join(', ')}`);
    }
    const onEc2 = /Amazon EC2/.test(files.text('/sys/class/dmi/id/sys_vendor') ?? '');
    const ec2 =
      'Attach an interface of type EFA to an instance type that has them:\n' +
      "aws ec2 describe-instance-types --filters Name=network-info.efa-supported,Values=true --query 'InstanceTypes[].InstanceType'\n";
    return note(
      'none',
      `${onEc2 ? ec2 : ''}To try EFA in software:\nnpx libfabric softefa -- npx libfabric doctor`,
    );
  },
};

const driver: Check = {
  id: 'device.driver',
  title: 'Kernel driver efa',
  expected: 'the module efa, loaded and bound to the device',
  why: 'Without it the kernel offers no EFA.',
  matters: 'with-hardware',
  look({ files }) {
    const release = files.text('/proc/sys/kernel/osrelease') ?? 'unknown';
    if (!files.exists('/sys/module/efa')) {
      return error(
        `not loaded (Linux ${release})`,
        'sudo modprobe efa\n' +
          'If there is no such module: https://github.com/amzn/amzn-drivers/tree/master/kernel/linux/efa',
      );
    }
    const idle = efasOnPci(files).filter(
      (address) => files.linkName(`/sys/bus/pci/devices/${address}/driver`) === null,
    );
    const version = files.text('/sys/module/efa/version');
    const found = version === null ? `of Linux ${release}` : version;
    if (idle.length === 0) return ok(found);
    return error(
      `${found}, not bound to ${idle.join(', ')}`,
      `For its messages: sudo dmesg | grep -i efa\nThen: echo ${idle[0]} | sudo tee /sys/bus/pci/drivers/efa/bind`,
    );
  },
};

const nodes: Check = {
  id: 'device.nodes',
  title: 'Device nodes',
  expected: '/dev/infiniband/uverbs* of each EFA, which this user can read and write',
  why: 'libibverbs opens the device there. A container has the node only if it is passed in.',
  matters: 'with-hardware',
  look({ files }) {
    const folder = '/sys/class/infiniband_verbs';
    const all = files.names(folder).filter((name) => {
      const vendor = files.text(`${folder}/${name}/device/vendor`);
      return /^uverbs\d+$/.test(name) && vendor === '0x1d0f';
    });
    if (all.length === 0) {
      return error(`no EFA in ${folder}`, 'sudo modprobe ib_uverbs && sudo modprobe efa');
    }
    const paths = all.map((name) => `/dev/infiniband/${name}`);
    const refused = paths.flatMap((path) => {
      const code = files.whyNotOpened(path);
      return code === null ? [] : [{ path, code }];
    });
    if (refused.length === 0) return ok(paths.join(', '));
    const found = refused.map(({ path, code }) => `${path}: ${code}`).join(', ');
    return error(found, nodeFix(refused[0] as Refused));
  },
};

interface Refused {
  readonly path: string;
  readonly code: string;
}

function nodeFix({ path, code }: Refused): string {
  if (code === 'EACCES') {
    return `sudo chmod 666 /dev/infiniband/uverbs*\nPermanently, as a udev rule: KERNEL=="uverbs*", MODE="0666"`;
  }
  return (
    `Docker: docker run --device=${path} --ulimit memlock=-1 ...\n` +
    'Kubernetes: the EFA device plugin, and resources: { limits: { vpc.amazonaws.com/efa: 1 } }\n' +
    'Not in a container: sudo modprobe ib_uverbs'
  );
}

const opened: Check = {
  id: 'device.opened',
  title: 'rdma-core opens the device',
  expected: 'each EFA, opened',
  why: 'libfabric opens it the same way.',
  matters: 'with-efa',
  look(machine) {
    const all = efas(machine);
    if (all.length === 0) {
      const { absence } = machine;
      return error(absence?.message ?? 'no EFA among the RDMA devices', 'See the checks above.');
    }
    const failed = all.filter((device) => device.error !== null);
    if (failed.length > 0) {
      const found = failed
        .map(({ name, error: reason }) => `${name}: ${reason?.message}`)
        .join(', ');
      return error(found, 'See the device nodes, and the driver of rdma-core.');
    }
    const texts = all.map(({ name, firmware }) => `${name} (firmware ${firmware ?? 'unknown'})`);
    return ok(texts.join(', '));
  },
};

const port: Check = {
  id: 'device.port',
  title: 'Port',
  expected: 'ACTIVE',
  why: 'Nothing is sent or received while it is down.',
  matters: 'with-efa',
  look(machine) {
    const all = efas(machine).flatMap(({ name, ports }) =>
      ports.map(({ number, state, speed }) => ({ name: `${name}/${number}`, state, speed })),
    );
    if (all.length === 0) return skipped('no port to ask');
    const text = ({ name, state }: (typeof all)[number]) => `${name} ${state ?? 'unknown'}`;
    const down = all.filter(({ state }) => state !== 'ACTIVE');
    if (down.length > 0) {
      return error(
        down.map(text).join(', '),
        'sudo rmmod efa && sudo modprobe efa; if it stays down, stop and start the instance',
      );
    }
    return ok(all.map((each) => `${text(each)}, ${each.speed ?? '?'} Gbit/s`).join('; '));
  },
};

const rdma: Check = {
  id: 'device.rdma',
  title: 'RDMA in hardware',
  expected: 'RDMA_READ and RDMA_WRITE',
  why: "The provider emulates missing operations with messages, which costs the target's CPU time.",
  matters: 'with-efa',
  look(machine) {
    const known = efas(machine).flatMap(({ name, efa }) => (efa === null ? [] : [{ name, efa }]));
    if (known.length === 0) return skipped('no device reports it');
    const lacking = known.flatMap(({ name, efa }) => {
      const missing = ['RDMA_READ', 'RDMA_WRITE'].filter((cap) => !efa.capabilities.includes(cap));
      return missing.length > 0 ? [`${name} has no ${missing.join(' and no ')}`] : [];
    });
    if (lacking.length === 0) return ok('RDMA_READ, RDMA_WRITE');
    const fix =
      'Older instance types lack them, and older releases of rdma-core do not report them: update it\n' +
      '(RDMA_WRITE: 46 or newer).';
    return note(lacking.join(', '), fix);
  },
};

// Since this release efa ignores devices of other vendors.
const TOLERANT = '2.2';

const foreign: Check = {
  id: 'device.foreign',
  title: 'RDMA devices of other vendors',
  expected: `none, or libfabric ${TOLERANT} or newer`,
  why: 'Before 2.2 efa finds no device at all if libibverbs lists one that is not an EFA.',
  matters: 'with-efa',
  look(machine) {
    const others = machine.devices.filter((device) => !isEfa(device));
    if (machine.efa === 'none') return skipped(namesOf(others) || 'none');
    if (others.length === 0) return ok('none');
    const found = others.map(({ name, driver: by }) => `${name} (${by ?? 'no driver'})`).join(', ');
    const { loaded } = machine.library;
    if (loaded === null || atLeast(loaded.version, TOLERANT)) return ok(found);
    return error(
      found,
      `Update libfabric to ${TOLERANT} or newer, or hide the others from libibverbs:\n` +
        `${others.map(({ driver: by }) => `sudo modprobe -r ${by ?? 'DRIVER'}`).join('\n')}\n` +
        'In a container: pass in the uverbs node of the EFA only.',
    );
  },
};

const refusals: Check = {
  id: 'device.refusals',
  title: 'Refused by the device',
  expected: 'no error counted since the driver was loaded',
  why: 'The device refused a resource to a program on this machine: queues, address handles, regions.',
  matters: 'with-efa',
  look(machine) {
    if (efas(machine).length === 0) return skipped('no device to ask');
    const refused = efas(machine).flatMap(({ name }) =>
      Object.entries(machine.counters[name] ?? {})
        .filter(
          ([counter, value]) => /^(create|alloc|reg|mmap)_\w*err$/.test(counter) && value > 0n,
        )
        .map(([counter, value]) => `${name} ${counter} ${value}`),
    );
    if (refused.length === 0) return ok('nothing');
    const regions = refused.some((text) => text.includes('reg_mr_err'));
    return note(
      refused.join(', '),
      regions
        ? 'Registrations fail at the locked-memory limit and at the number of pages of the device: see\n' +
            'Memory, use huge pages, and register fewer bytes.'
        : 'Close what is not needed: the resources of the device are limited. npx libfabric devices shows the limits.',
    );
  },
};

export const device: Group = {
  title: 'Device',
  checks: [present, driver, nodes, opened, port, rdma, foreign, refusals],
};
