// `npm run test:trixie [-- vitest's arguments]`: the tests of the efa provider on Debian 13, with its
// libfabric 2.1, its rdma-core and its Node, in a folder made by debootstrap. Where that folder cannot
// be made it says so, and the last line counts it as skipped. (With `-t tcp`, those of tcp; 2.1's shm
// crashes when an endpoint closes over messages that nobody has received.)
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { npmPackages } from './setup/npm.mjs';
import { announce, root, run, SetupError } from './setup/step.mjs';
import { onPath, systemPackages } from './setup/system.mjs';
import { ONLY_THE_LIBRARY, prepare } from './test.mjs';

const SUITE = 'trixie';
const MIRROR = 'http://deb.debian.org/debian';
const PACKAGES = [
  ...['nodejs', 'libnode-dev', 'g++', 'make', 'python3', 'pkg-config'],
  ...['libfabric-dev', 'libfabric-bin', 'libibverbs-dev', 'rdma-core', 'git'],
];
const DEBOOTSTRAP = {
  name: 'debootstrap',
  present: () => onPath('debootstrap'),
  apt: ['debootstrap'],
  dnf: ['debootstrap'],
};

const folder = join(root, `build-${SUITE}`);
const inside = (path) => join(folder, path);

// The mirror that this machine uses, where it is a Debian.
function mirror() {
  const sources = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'];
  const text = sources.filter(existsSync).map((file) => readFileSync(file, 'utf8'));
  return text.join('\n').match(/^(?:URIs: *|deb (?:\[.*?\] )?)(\S+\/debian)\/?\s/m)?.[1] ?? MIRROR;
}

// Mounts and processes of their own: nothing is left when the command ends, however it ends.
function entering(command) {
  const script = [
    'mount -t proc proc "$0/proc"',
    'mount --rbind /dev "$0/dev"',
    'mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"',
    'mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"',
    'exec chroot "$0" "$@"',
  ].join(' && ');
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child'];
  return ['unshare', ...namespaces, 'sh', '-c', script, folder, ...command];
}

function enter(command) {
  const [program, ...args] = entering(command);
  run(program, args, { env: { DEBIAN_FRONTEND: 'noninteractive' }, what: command.join(' ') });
}

/** Makes the folder, once. */
function debian() {
  const done = inside('made');
  const wanted = PACKAGES.join(' ');
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return;
  if (process.getuid() !== 0) throw new SetupError('making a Debian folder takes root');
  systemPackages([DEBOOTSTRAP]);
  announce(`making a Debian 13 in ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  run('debootstrap', ['--variant=minbase', SUITE, folder, mirror()]);
  cpSync('/etc/resolv.conf', inside('etc/resolv.conf'), { dereference: true });
  enter(['apt-get', 'update']);
  enter(['apt-get', 'install', '-y', '--no-install-recommends', ...PACKAGES]);
  enter(['sh', '-c', `apt-get clean; printf %s "${wanted}" > /made`]);
}

/** Copies what a clone of this tree would hold, and the npm packages. */
function copyTree() {
  const { stdout } = spawnSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = stdout.split('\0').filter((file) => file && existsSync(join(root, file)));
  const tree = inside('libfabric');
  mkdirSync(tree, { recursive: true });
  // What was built there stays: a second run builds what has changed.
  for (const name of readdirSync(tree)) {
    if (name !== 'build' && name !== 'dist') rmSync(join(tree, name), { recursive: true });
  }
  const options = { recursive: true, verbatimSymlinks: true, preserveTimestamps: true };
  for (const file of [...files, 'node_modules'])
    cpSync(join(root, file), join(tree, file), options);
}

try {
  debian();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(`skipped: ${error.message}`);
  console.log('0 passed, 0 failed, 1 skipped');
  process.exit();
}
if (prepare(() => npmPackages() ?? copyTree())) {
  const test = 'cd /libfabric && exec node scripts/test.mjs "$@"';
  const which = process.argv.includes('-t') ? [] : ['-t', 'efa'];
  const args = ['sh', '-c', test, 'sh', ...ONLY_THE_LIBRARY, ...which, ...process.argv.slice(2)];
  const [program, ...rest] = entering(args);
  // Nothing of this machine's environment, which names files that are not there.
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', LANG: 'C.UTF-8' };
  const child = spawn(program, rest, { stdio: 'inherit', env });
  process.on('SIGINT', () => {}); // a terminal sends it to the suite as well
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}
