// Folders of a bucket without objects: no key has them, and they are in the way of other keys.
import { type Dirent, rmdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { native } from '../contract/native.js';
import { inFolder, splitKey } from './open-folders.js';

/** Bytes of the path of a folder in a bucket. The system takes 4096 with the rest. */
const MAX_PATH = 3500;

/** Opens the folders of buckets. */
interface Folders {
  openFolder(bucket: string, folder: string): number | undefined;
}

/** Removes a folder if it is empty. Returns whether it is gone. One that stays has no objects, so lists do not have it. */
export function removeEmpty(folders: Folders, bucket: string, folder: string): boolean {
  const [above, name] = splitKey(folder);
  let fd: number | undefined;
  try {
    fd = folders.openFolder(bucket, above);
    if (fd === undefined) return false;
    rmdirSync(inFolder(fd, name));
    return true;
  } catch {
    return false;
  } finally {
    if (fd !== undefined) native.closeDescriptor(fd);
  }
}

/** Removes a folder below which there are only folders. Returns whether it is gone. */
export async function removeFolders(
  folders: Folders,
  bucket: string,
  folder: string,
): Promise<boolean> {
  return (await removeFoldersIn(folders, bucket, folder)) && removeEmpty(folders, bucket, folder);
}

/** Removes what is in a folder if below it there are only folders. Returns whether the folder is empty. */
export async function removeFoldersIn(
  folders: Folders,
  bucket: string,
  folder: string,
): Promise<boolean> {
  if (Buffer.byteLength(folder) > MAX_PATH) return false;
  const fd = folders.openFolder(bucket, folder);
  if (fd === undefined) return false;
  let entries: Dirent[];
  try {
    entries = await readdir(inFolder(fd, '.'), { withFileTypes: true });
  } finally {
    native.closeDescriptor(fd); // not one for each level
  }
  if (!entries.every((entry) => entry.isDirectory())) return false;
  for (const { name } of entries) {
    const path = folder === '' ? name : `${folder}/${name}`;
    if (!(await removeFolders(folders, bucket, path))) return false;
  }
  return true;
}
