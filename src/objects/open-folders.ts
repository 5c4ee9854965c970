// Folders that are open, and the files in them by their names.
import { constants, lstatSync, type StatsBase, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { errnoByCode } from '../base/error-codes.js';
import { FabricError } from '../base/errors.js';
import { native } from '../contract/native.js';
import { ObjectError } from './errors.js';
import { systemError } from './system-errors.js';
import type { Version } from './versions.js';

const DESCRIPTORS = '/proc/self/fd';

/** The path of a file in a folder that is open. It follows no link that somebody puts in the folder's place. */
export const inFolder = (fd: number, name: string) => `${DESCRIPTORS}/${fd}/${name}`;

/** @throws FabricError FI_ENOSYS if there are no such paths. */
export function checkDescriptorPaths(): void {
  if (statSync(DESCRIPTORS, { throwIfNoEntry: false })) return;
  throw new FabricError(errnoByCode.FI_ENOSYS, 'open', {
    detail: `an object server needs ${DESCRIPTORS}, by which it uses open folders`,
    hint: 'mount the file system proc on /proc, also in a container or after chroot',
  });
}

function checkedFd(fd: number): number {
  if (fd < 0) throw systemError(fd);
  return fd;
}

/** Calls with a descriptor of a folder below another one. */
export function withFolder<T>(
  root: number,
  path: string,
  create: boolean,
  use: (fd: number) => T,
): T {
  const fd = checkedFd(native.storageFolder(root, path, create));
  try {
    return use(fd);
  } finally {
    native.closeDescriptor(fd);
  }
}

/** Waits until the entries of a folder are on the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export const splitKey = (key: string): readonly [folder: string, name: string] => {
  const slash = key.lastIndexOf('/');
  return slash < 0 ? ['', key] : [key.slice(0, slash), key.slice(slash + 1)];
};

export const prefixesOf = (path: string): string[] =>
  path.split('/').map((_, i, names) => names.slice(0, i + 1).join('/'));

export const versionOf = (stats: { size: bigint; mtimeNs: bigint; ino: bigint }): Version => ({
  size: Number(stats.size),
  modified: Number(stats.mtimeNs / 1000n),
  inode: Number(stats.ino),
});

/** The version of the object at a path. Undefined if there is nothing, or something else. */
export function objectAt(path: string): Version | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return stats?.isFile() ? versionOf(stats) : undefined;
}

/** Throws if the version is not the one that a request expects. */
export type CheckVersion = (version: Version | undefined) => void;

const KINDS = [
  ['a symbolic link', 'isSymbolicLink'],
  ['a file', 'isFile'],
  ['a FIFO', 'isFIFO'],
  ['a socket', 'isSocket'],
  ['a device', 'isCharacterDevice'],
  ['a device', 'isBlockDevice'],
] as const;

/** What stands at a path where a folder should be, in words. Undefined for a folder and for nothing. */
export function obstacleAt(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats && obstacleOf(stats);
}

const obstacleOf = (stats: StatsBase<number | bigint>): string | undefined =>
  KINDS.find(([, is]) => stats[is]())?.[0];

/** A key is no object because of what is there already. */
function conflict(obstacle: string | undefined): ObjectError {
  if (obstacle === undefined) return new ObjectError('KeyConflict');
  const detail = `${obstacle}, which is no object, has the name of the key on the server`;
  return new ObjectError('KeyConflict', { detail, hint: 'remove it there, or use another key' });
}

/** Checks what a change would replace. A folder, a link or the like is no object, and the key of none. */
export function checkReplaced(path: string, check: CheckVersion): Version | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  const version = stats?.isFile() ? versionOf(stats) : undefined;
  check(version);
  if (stats && version === undefined) throw conflict(obstacleOf(stats));
  return version;
}

/** Calls `use`. An object, a link or the like that stands where a folder of a key should be is a conflict. */
export function withParent<T>(check: CheckVersion, use: () => T): T {
  try {
    return use();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
    check(undefined);
    throw new ObjectError('KeyConflict');
  }
}
