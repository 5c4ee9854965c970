// Another release of Debian in a folder, created by debootstrap, with the libfabric, rdma-core, compiler and Node.js of
// that release. Runs commands in the folder.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { npmPackages } from '../setup/npm.mjs';
import { announce, root, run, SetupError } from '../setup/step.mjs';
import { onPath, systemPackages } from '../setup/system.mjs';

const PACKAGES = [
  ...['nodejs', 'libnode-dev', 'g++', 'make', 'python3'],
  ...['libfabric-dev', 'libfabric-bin', 'libibverbs-dev'],
];
export const DEBOOTSTRAP = {
  name: 'debootstrap',
  present: () => onPath('debootstrap'),
  apt: ['debootstrap'],
  dnf: ['debootstrap'],
};
/** An older debootstrap has no script for a newer release, but all scripts are the same. */
export const SCRIPT = '/usr/share/debootstrap/scripts/sid';
/** The environment of commands in the folder. The variables of this machine name files that do not exist there. */
export const ENVIRONMENT = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  LANG: 'C.UTF-8',
};

const folderOf = (release) => join(root, `build-${release}`);

const SOURCES = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'];

/** The Debian mirror that this machine is configured with. */
export function mirror() {
  const text = SOURCES.filter(existsSync).map((file) => readFileSync(file, 'utf8'));
  const [, uri] = text.join('\n').match(/^(?:URIs: *|deb (?:\[.*?\] )?)(\S+\/debian)\/?\s/m) ?? [];
  if (uri === undefined) throw new SetupError(`no mirror of Debian in ${SOURCES.join(' or ')}`);
  return uri;
}

/**
 * The command line that runs a command in the folder of a release, in mount and PID namespaces of its own, so that
 * nothing remains however the command ends.
 */
export function entering(release, command) {
  const script = [
    'mount -t proc proc "$0/proc"',
    'mount --rbind /dev "$0/dev"',
    'mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"',
    'mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"',
    'exec chroot "$0" "$@"',
  ].join(' && ');
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child'];
  return ['unshare', ...namespaces, 'sh', '-c', script, folderOf(release), ...command];
}

function enter(release, command) {
  const [program, ...args] = entering(release, command);
  return run(program, args, {
    env: { DEBIAN_FRONTEND: 'noninteractive' },
    what: command.join(' '),
  });
}

/** Creates the folder of a release if it does not exist. Throws SetupError if that is not possible. */
export async function makeDebian(release) {
  const folder = folderOf(release);
  const made = join(folder, 'made');
  const wanted = PACKAGES.join(' ');
  if (existsSync(made) && readFileSync(made, 'utf8') === wanted) return;
  if (process.getuid() !== 0) throw new SetupError('creating a Debian folder needs root');
  const uri = mirror();
  await systemPackages([DEBOOTSTRAP]);
  announce(`creating a Debian ${release} in ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  await run('debootstrap', ['--variant=minbase', release, folder, uri, SCRIPT]);
  cpSync('/etc/resolv.conf', join(folder, 'etc/resolv.conf'), { dereference: true });
  // A mirror may lag behind for longer than the index of a testing release is valid.
  await enter(release, ['apt-get', '-o', 'Acquire::Check-Valid-Until=false', 'update']);
  await enter(release, ['apt-get', 'install', '-y', '--no-install-recommends', ...PACKAGES]);
  await enter(release, ['sh', '-c', `apt-get clean; printf %s "${wanted}" > /made`]);
}

/** Copies the files of a clone, and the npm packages, to /libfabric in the folder. */
export async function copyTree(release) {
  await npmPackages();
  const { stdout } = spawnSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = stdout.split('\0').filter((file) => file && existsSync(join(root, file)));
  const tree = join(folderOf(release), 'libfabric');
  mkdirSync(tree, { recursive: true });
  // Keeps the builds there, so that a second run rebuilds only what has changed.
  for (const name of readdirSync(tree)) {
    if (name !== 'build' && name !== 'dist') rmSync(join(tree, name), { recursive: true });
  }
  const options = { recursive: true, verbatimSymlinks: true, preserveTimestamps: true };
  for (const file of [...files, 'node_modules'])
    cpSync(join(root, file), join(tree, file), options);
}
