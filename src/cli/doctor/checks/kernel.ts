import { acceleratorsOf } from '../accelerators.js';
import { type Check, type Group, note, ok, skipped, warning } from '../check.js';
import type { Files } from '../files.js';
import { isEfa, type Machine } from '../machine.js';

const LISTS = ['/etc', '/run', '/usr/local/lib', '/usr/lib', '/lib'];

/** The lines of a configuration file, without comments. */
function linesOf(files: Files, path: string): string[] {
  const lines = (files.text(path) ?? '').split('\n');
  return lines.map((line) => line.replace(/[#;].*/, '').trim()).filter((line) => line !== '');
}

/** A file in such a folder with a matching line: modules-load.d(5), modprobe.d(5). */
function fileWith(files: Files, folder: string, wanted: RegExp): string | undefined {
  const paths = LISTS.flatMap((root) => {
    const path = `${root}/${folder}`;
    return files.names(path).flatMap((name) => (name.endsWith('.conf') ? [`${path}/${name}`] : []));
  });
  return paths.find((path) => linesOf(files, path).some((line) => wanted.test(line)));
}

const boot: Check = {
  id: 'kernel.boot',
  title: 'Driver efa at boot',
  expected:
    'loaded by udev, which finds its devices in the tables of depmod, or named in modules-load.d',
  why: 'A driver that was loaded by hand is not loaded at the next boot, and the machine then has no EFA.',
  matters: 'with-hardware',
  look({ files }) {
    const refused = fileWith(
      files,
      'modprobe.d',
      /^(blacklist\s+efa|install\s+efa\s+\/bin\/false)$/,
    );
    if (refused !== undefined) {
      return warning(
        `${refused} keeps it from being loaded`,
        `Remove the line about efa from ${refused}`,
      );
    }
    const listed = linesOf(files, '/etc/modules').includes('efa')
      ? '/etc/modules'
      : fileWith(files, 'modules-load.d', /^efa$/);
    if (listed !== undefined) return ok(`named in ${listed}`);
    const folder = `/lib/modules/${files.text('/proc/sys/kernel/osrelease') ?? ''}`;
    const known = files.text(`${folder}/modules.alias`);
    if (known === null) return skipped(`${folder} is not visible here`);
    if (/^alias pci:v00001D0Fd0000EFA\S* efa$/m.test(known)) return ok('by udev');
    return warning(
      `neither udev nor modules-load.d loads it for Linux ${folder.slice('/lib/modules/'.length)}`,
      'echo efa | sudo tee /etc/modules-load.d/efa.conf\nsudo depmod',
    );
  },
};

/** The peer-to-peer state that the driver reports for each EFA; null if it has no such file. */
function stateOf({ files, devices }: Machine): { name: string; p2p: string | null }[] {
  return devices.filter(isEfa).map(({ name }) => {
    const state = files.text(`/sys/class/infiniband/${name}/device/p2p`);
    return { name, p2p: state === '' || state === '0' ? null : state };
  });
}

const p2p: Check = {
  id: 'kernel.peer-to-peer',
  title: 'Peer-to-peer with accelerators',
  expected: "each EFA offers it (sysfs: device/p2p), or there is no accelerator (NVIDIA's, Neuron)",
  why: 'The EFA then reads and writes the memory of accelerators directly, without a copy in memory of the host.',
  matters: 'with-hardware',
  look(machine) {
    const states = stateOf(machine);
    const found = states.map(({ name, p2p: state }) => `${name} ${state ?? 'without'}`).join(', ');
    const others = acceleratorsOf(machine);
    if (others.length === 0) return ok(`no accelerator${found === '' ? '' : `; ${found}`}`);
    if (states.every(({ p2p: state }) => state !== null)) return ok(found);
    return note(
      `${found}, beside ${others.join(', ')}`,
      'Load the driver of the accelerator before efa, and use an efa that was built with P2P, such as the EFA\n' +
        "installer's (cmake without -DENABLE_P2P=0). Linux 5.12 and newer also share such memory as dma-buf.",
    );
  },
};

export const kernel: Group = { title: 'Kernel', checks: [boot, p2p] };
