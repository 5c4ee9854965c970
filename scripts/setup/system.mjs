// System packages: libfabric with its headers, and the tools that node-gyp needs.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { atLeast, findLibfabric, OLDEST } from './libfabric.mjs';
import { announce, run, SetupError } from './step.mjs';

const EFA_INSTALLER = [
  'The EFA installer installs a current libfabric on Amazon Linux, Ubuntu and others:',
  '  curl -O https://efa-installer.amazonaws.com/aws-efa-installer-latest.tar.gz',
  '  tar -xf aws-efa-installer-latest.tar.gz && cd aws-efa-installer && sudo ./efa_installer.sh -y',
].join('\n');

export function onPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const LIBFABRIC = {
  name: 'libfabric with its headers',
  present: () => findLibfabric() !== undefined,
  apt: ['libfabric-dev', 'libfabric-bin', 'pkg-config'],
  dnf: ['libfabric-devel', 'libfabric', 'pkgconf-pkg-config'],
};
const RDMA_CORE = {
  name: 'rdma-core with its headers (for softefa)',
  present: () => existsSync('/usr/include/infiniband/efadv.h'),
  apt: ['rdma-core', 'libibverbs-dev', 'ibverbs-utils'],
  dnf: ['rdma-core', 'rdma-core-devel', 'libibverbs-utils'],
};
const COMPILER = {
  name: 'a C++ compiler',
  present: () => Boolean(process.env.CXX) || onPath('g++') || onPath('c++'),
  apt: ['g++'],
  dnf: ['gcc-c++'],
};
const MAKE = { name: 'make', present: () => onPath('make'), apt: ['make'], dnf: ['make'] };
const PYTHON = {
  name: 'python3 (for node-gyp)',
  present: () => Boolean(process.env.PYTHON ?? process.env.npm_config_python) || onPath('python3'),
  apt: ['python3'],
  dnf: ['python3'],
};
export const CMAKE = {
  name: 'cmake',
  present: () => onPath('cmake'),
  apt: ['cmake'],
  dnf: ['cmake'],
};

function managerCommands(missing) {
  if (onPath('apt-get')) {
    const lock = ['-o', 'DPkg::Lock::Timeout=120'];
    const packages = missing.flatMap((need) => need.apt);
    return {
      update: ['apt-get', ...lock, 'update'],
      install: ['apt-get', ...lock, 'install', '-y', '--no-install-recommends', ...packages],
      advice: `sudo apt-get update && sudo apt-get install -y ${packages.join(' ')}`,
    };
  }
  if (onPath('dnf')) {
    const packages = missing.flatMap((need) => need.dnf);
    const install = ['dnf', 'install', '-y', ...packages];
    return { install, advice: `sudo ${install.join(' ')}` };
  }
  return undefined;
}

const mayInstall = () =>
  process.getuid() === 0 ||
  (onPath('sudo') && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0);

async function install(missing) {
  const names = missing.map((need) => need.name).join(', ');
  const manager = managerCommands(missing);
  if (!manager) {
    throw new SetupError(
      `missing: ${names}.\nThis system has neither apt-get nor dnf; install the packages by other means.`,
    );
  }
  const advice = ['Install with:', `  ${manager.advice}`];
  if (missing.includes(LIBFABRIC)) advice.push(EFA_INSTALLER);
  const hint = advice.join('\n');
  if (!mayInstall()) throw new SetupError(`missing: ${names}.\n${hint}`);

  announce(`installing system packages (${names})`);
  const asRoot = process.getuid() === 0 ? [] : ['sudo', '-n'];
  const elevated = (command, options) => {
    const [program, ...args] = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', ...command];
    return run(program, args, { ...options, what: command.join(' ') });
  };
  let updateFailure = '';
  try {
    if (manager.update) await elevated(manager.update);
  } catch (error) {
    updateFailure = `${error.message}\n`; // The known packages may suffice; otherwise this is printed.
  }
  try {
    await elevated(manager.install, { hint });
  } catch (error) {
    throw new SetupError(`${updateFailure}${error.message}`);
  }
  const still = missing.filter((need) => !need.present());
  if (still.length > 0) {
    throw new SetupError(`still missing: ${still.map((need) => need.name).join(', ')}.\n${hint}`);
  }
}

/** Installs the missing packages of the given needs, or throws an error that says what to install. */
export async function systemPackages(needs = [LIBFABRIC, RDMA_CORE, COMPILER, MAKE, PYTHON]) {
  const missing = needs.filter((need) => !need.present());
  if (missing.length > 0) await install(missing);
  if (!needs.includes(LIBFABRIC)) return;
  const { header, version } = findLibfabric();
  if (!atLeast(version, OLDEST)) {
    throw new SetupError(
      `libfabric ${version} (${header}) is too old; install ${OLDEST} or newer.\n${EFA_INSTALLER}`,
    );
  }
}
