// Shared libraries in the process and on the machine.
import type { Machine } from './machine.js';

/** Where libfabric and rdma-core are installed, the EFA installer's places first. */
const FOLDERS = [
  '/opt/amazon/efa/lib64',
  '/opt/amazon/efa/lib',
  '/usr/lib64',
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib',
  '/usr/local/lib64',
  '/usr/local/lib',
];

/** The files of a library that are mapped into this process: `name` is `'libfabric'`. */
export function mapped({ files }: Machine, name: string): string[] {
  const lines = (files.text('/proc/self/maps') ?? '').split('\n');
  const paths = lines.map((line) => line.split(/ +/).slice(5).join(' '));
  return distinct(paths.filter((path) => isFileOf(path, name)));
}

/** The files of a library in folders that the loader may search. */
export function installed({ files, env }: Machine, name: string): string[] {
  const asked = (env.LD_LIBRARY_PATH ?? '').split(':').filter((folder) => folder.startsWith('/'));
  const paths = [...asked, ...FOLDERS].flatMap((folder) =>
    files
      .names(folder)
      .filter((file) => isFileOf(file, name))
      .map((file) => files.real(`${folder}/${file}`)),
  );
  return distinct(paths.filter((path) => path !== null));
}

/** The file of a library that this process uses, or would use. */
export function inUse(machine: Machine, name: string): string | undefined {
  return mapped(machine, name)[0] ?? installed(machine, name)[0];
}

/** The release of rdma-core that contains a library: libibverbs.so.1.14.44.0 belongs to 44.0. */
export function rdmaCoreRelease(path: string): string | null {
  return /\.so\.\d+\.\d+\.(\d+\.\d+)$/.exec(path)?.[1] ?? null;
}

const distinct = (paths: readonly string[]) => [...new Set(paths)];

// Python wheels add a hash to the name: libfabric-1a2b3c4d.so.1.
function isFileOf(path: string, name: string): boolean {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return file.startsWith(name) && /^(-[\da-f]{8})?\.so(\.\d+)*$/.test(file.slice(name.length));
}
