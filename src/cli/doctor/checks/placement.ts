import { type Check, type Group, ok, skipped, warning } from '../check.js';
import type { Files } from '../files.js';
import { isEfa, type Machine } from '../machine.js';

const NODES = '/sys/devices/system/node';

const nodesOf = (files: Files) => files.names(NODES).filter((name) => /^node\d+$/.test(name));

/** NUMA nodes of EFAs, by node. */
function efasByNode({ devices }: Machine): Map<number, string[]> {
  const nodes = new Map<number, string[]>();
  for (const { name, numaNode } of devices.filter(isEfa)) {
    if (numaNode === null) continue;
    nodes.set(numaNode, [...(nodes.get(numaNode) ?? []), name]);
  }
  return nodes;
}

const nic: Check = {
  id: 'placement.nic',
  title: 'NUMA nodes of the devices',
  expected: 'known, if the machine has several',
  why: 'A core of another node reaches the device and its memory through the interconnect.',
  matters: 'with-efa',
  look(machine) {
    const count = nodesOf(machine.files).length;
    if (count <= 1) return ok('the machine has one node');
    const nodes = efasByNode(machine);
    if (nodes.size === 0) return skipped(`${count} nodes, and the devices do not report theirs`);
    return ok([...nodes].map(([node, names]) => `node ${node}: ${names.join(', ')}`).join('; '));
  },
};

const process: Check = {
  id: 'placement.process',
  title: 'Cores of this process',
  expected: 'some on the node of each device',
  why: 'Transfers across nodes take longer, and several devices at once reach far less bandwidth.',
  matters: 'with-efa',
  look(machine) {
    const { files } = machine;
    const [, list] =
      /^Cpus_allowed_list:\s*(\S+)$/m.exec(files.text('/proc/self/status') ?? '') ?? [];
    if (list === undefined) return skipped('/proc/self/status does not report it');
    const found = `cores ${list}`;
    if (nodesOf(files).length <= 1) return ok(found);
    const own = numbersIn(list);
    const remote = [...efasByNode(machine)].filter(([node]) => {
      const cores = numbersIn(files.text(`${NODES}/node${node}/cpulist`) ?? '');
      return !cores.some((core) => own.includes(core));
    });
    if (remote.length === 0) return ok(found);
    const [first] = remote[0] as (typeof remote)[number];
    const away = remote.map(([node, names]) => `${names.join(', ')} on node ${node}`).join('; ');
    return warning(
      `${found}; ${away}`,
      `numactl --cpunodebind=${first} --membind=${first} COMMAND\n` +
        'Or pin the threads of endpoints: open({ affinity: [CORES] }), cores as in\n' +
        `cat ${NODES}/node${first}/cpulist`,
    );
  },
};

/** `'0-2,8'` */
function numbersIn(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number);
    return Number.isInteger(first)
      ? Array.from({ length: last - first + 1 }, (_, i) => first + i)
      : [];
  });
}

export const placement: Group = { title: 'Placement', checks: [nic, process] };
