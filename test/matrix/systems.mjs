// The systems of `npm run suite -- matrix`: how a command runs there, and the outcome that the package must have there.
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ARCHITECTURES } from '../../scripts/prebuild/binaries.mjs';
import { emulating, makeRoot, rootFolder } from '../../scripts/stack/root.mjs';

const NOBODY = 65534;
const MIB = 2 ** 20;

const sh = (setup) => ['sh', '-c', `${setup} && exec "$0" "$@"`];
const mounted = (setup) => ['unshare', '--mount', ...sh(setup)];

/** A command that runs another one with a /dev/shm of its own, with options of mount(8) for tmpfs. */
export const withShm = (options) =>
  mounted(`mount -t tmpfs -o mode=1777,${options} tmpfs /dev/shm`);

const OTHER = ARCHITECTURES.find((arch) => arch !== process.arch);

const ok = 'ok';
const everything = { tcp: ok, shm: ok, efa: ok, transfer: ok, mapped: ok };

/** A memory cgroup of version 1 or 2. */
function cgroup(bytes) {
  const [root, file] = existsSync('/sys/fs/cgroup/memory')
    ? ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes']
    : ['/sys/fs/cgroup', 'memory.max'];
  const folder = `${root}/libfabric-matrix-${process.pid}-${bytes}`;
  return {
    launcher: sh(`echo $$ > ${folder}/cgroup.procs`),
    prepare() {
      mkdirSync(folder);
      writeFileSync(`${folder}/${file}`, String(bytes));
    },
    clean: () => rmdirSync(folder),
  };
}

/** A container that has only glibc, libfabric and Node.js. */
function container(arch) {
  const folder = rootFolder(arch);
  const enter = `mount --rbind /dev ${folder}/dev && mount -t proc proc ${folder}/proc`;
  return {
    prepare: () => makeRoot(arch),
    launcher: [...mounted(enter), 'chroot', folder],
    node: '/usr/bin/node',
    at: '/app/program.mjs',
  };
}

/** Another processor: QEMU runs the program, and finds its libraries in the root. */
function emulated(arch) {
  const folder = rootFolder(arch);
  const node = join(folder, 'run-node');
  return {
    async prepare() {
      await makeRoot(arch);
      const command = [...emulating(arch), join(folder, 'usr/bin/node')].join("' '");
      writeFileSync(node, `#!/bin/sh\nexec '${command}' "$@"\n`, { mode: 0o755 });
    },
    launcher: ['env', `MATRIX_NODE=${node}`],
    node,
    at: join(folder, 'app/program.mjs'),
  };
}

/**
 * @typedef {object} System
 * @property {string} name
 * @property {string[]} launcher the command that runs another one there
 * @property {string} [node] the Node.js there, if not this one
 * @property {string} [at] the path of the program there
 * @property {Record<string, string | RegExp>} expected the outcomes of the programs: 'ok', or the code of the error
 * @property {() => Promise<void> | void} [prepare]
 * @property {() => void} [clean]
 */

/** @param {string} withoutProcessVm a command that runs another one without process_vm_readv(2) */
export const systems = (withoutProcessVm) => [
  { name: 'this system', launcher: [], expected: everything },
  {
    name: 'an unprivileged user',
    launcher: ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'],
    expected: everything,
  },
  {
    // The same error as Yama's ptrace_scope gives.
    name: 'no permission for process_vm_readv(2) and process_vm_writev(2)',
    launcher: [withoutProcessVm],
    expected: everything,
  },
  {
    name: 'a read-only root',
    launcher: mounted('mount --bind / / && mount -o remount,bind,ro /'),
    expected: everything,
  },
  {
    name: 'a read-only /dev/shm',
    launcher: withShm('ro'),
    expected: { tcp: ok, shm: 'EROFS', efa: 'EROFS', transfer: ok },
  },
  {
    name: '/dev/shm of 1 MiB',
    launcher: withShm('size=1m'),
    expected: { tcp: ok, shm: 'FI_ENODATA', efa: 'FI_ENOSPC', transfer: ok },
  },
  {
    name: '/dev/shm of 64 MiB, as Docker makes it',
    launcher: withShm('size=64m'),
    expected: { ...everything, shmFilled: 'FI_ENODATA', efaFilled: 'FI_ENOSPC' },
  },
  {
    name: 'a cgroup with 512 MiB of memory',
    ...cgroup(512 * MIB),
    expected: { tcp: ok, shm: ok, transfer: ok },
  },
  {
    name: 'a container with libfabric and Node.js alone',
    ...container(process.arch),
    expected: everything,
  },
  {
    name: `a processor of ${OTHER}, which QEMU emulates`,
    ...emulated(OTHER),
    expected: everything,
  },
];

/** The programs of `expected`: the provider, the action, and the way to run it. */
export const programs = {
  tcp: ['tcp', 'exchange'],
  shm: ['shm', 'exchange'],
  efa: ['efa', 'exchange'],
  transfer: ['tcp', 'transfer'],
  mapped: ['shm', 'transfer'],
  shmFilled: ['shm', 'fill'],
  efaFilled: ['efa', 'fill'],
};
