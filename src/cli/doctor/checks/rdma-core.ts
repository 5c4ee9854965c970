import { type Check, error, type Group, note, ok, skipped, warning } from '../check.js';
import { inUse, rdmaCoreRelease } from '../libraries.js';
import { atLeast } from '../library.js';

const LEAST = '24';
const INSTALL =
  'sudo apt-get install rdma-core ibverbs-providers     # Debian, Ubuntu\n' +
  'sudo dnf install rdma-core libibverbs                # Amazon Linux, Fedora';

function library(id: string, title: string, name: string, why: string): Check {
  return {
    id,
    title,
    expected: `${name} of rdma-core ${LEAST} or newer`,
    why,
    matters: 'with-efa',
    look(machine) {
      const path = inUse(machine, name);
      if (path === undefined) return error(`no ${name}`, INSTALL);
      const release = rdmaCoreRelease(path);
      if (release === null)
        return note(path, 'Its name contains no release. Nothing to do if EFA works.');
      const found = `${release}, ${path}`;
      if (atLeast(release, LEAST)) return ok(found);
      return error(found, `Update rdma-core:\n${INSTALL}`);
    },
  };
}

const driver: Check = {
  id: 'rdma-core.driver',
  title: "rdma-core's driver for EFA",
  expected: 'libefa-rdmav*.so beside libibverbs, and efa.driver in /etc/libibverbs.d',
  why: 'libibverbs finds devices through their drivers. Without this driver it finds no EFA.',
  matters: 'with-hardware',
  look(machine) {
    const verbs = inUse(machine, 'libibverbs');
    if (verbs === undefined) return skipped('no libibverbs');
    const folder = `${verbs.slice(0, verbs.lastIndexOf('/'))}/libibverbs`;
    const file = machine.files.names(folder).find((name) => /^libefa-rdmav\d+\.so$/.test(name));
    if (file === undefined) return error(`no libefa-rdmav*.so in ${folder}`, INSTALL);
    const only = machine.env.RDMAV_DRIVERS ?? machine.env.IBV_DRIVERS;
    const named = (only ?? '').split(/[:;]/).includes('efa');
    if (machine.files.exists('/etc/libibverbs.d/efa.driver') || named)
      return ok(`${folder}/${file}`);
    return warning(
      `${folder}/${file}, but no /etc/libibverbs.d/efa.driver`,
      "echo 'driver efa' | sudo tee /etc/libibverbs.d/efa.driver",
    );
  },
};

export const rdmaCore: Group = {
  title: 'rdma-core',
  checks: [
    library('rdma-core.libibverbs', 'libibverbs', 'libibverbs', 'libfabric opens devices with it.'),
    library(
      'rdma-core.libefa',
      'libefa',
      'libefa',
      'libfabric uses it to query the capabilities of an EFA.',
    ),
    driver,
  ],
};
