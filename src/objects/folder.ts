// The folder of an object store: objects are its regular files, two levels or more below.
import { constants, existsSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { type NativeObjectFile, native } from '../contract/native.js';
import { removeEmpty, removeFolders, removeFoldersIn } from './empty-folders.js';
import { ObjectError } from './errors.js';
import {
  type CheckVersion,
  checkDescriptorPaths,
  checkReplaced,
  inFolder,
  objectAt,
  obstacleAt,
  prefixesOf,
  splitKey,
  syncFolder,
  versionOf,
  withFolder,
  withParent,
} from './open-folders.js';
import { lostOwn, type NewFile, OwnFiles } from './own-files.js';
import { isAbsent, systemError } from './system-errors.js';
import type { Version } from './versions.js';

/** An open object. Its content is `bytes`, or, if that is null, what `fd` has. */
export type OpenObject = NativeObjectFile;

const EAGAIN = -11;
const ENOENT = -2;

export class ObjectFolder {
  /** The files of the store itself. */
  readonly own: OwnFiles;
  readonly #root: FileHandle;
  readonly #durable: boolean;
  #lastTime = 0; // microseconds

  private constructor(root: FileHandle, durable: boolean) {
    this.#root = root;
    this.#durable = durable;
    this.own = new OwnFiles(root.fd);
  }

  /** @param durable whether changes are on the disk before they are confirmed. */
  static async open(path: string, durable: boolean): Promise<ObjectFolder> {
    checkDescriptorPaths();
    const root = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    const folder = new ObjectFolder(root, durable);
    try {
      await folder.own.makeFolders();
    } catch (error) {
      await folder.close();
      throw error;
    }
    return folder;
  }

  get #fd(): number {
    return this.#root.fd;
  }

  #at(path: string): string {
    return inFolder(this.#fd, path);
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  /**
   * Opens an object: at once if the kernel has it in its caches, otherwise off the event loop.
   *
   * @param inlined content of at most so many bytes is read. null: only describes the object.
   * @param room where such content goes. If omitted, to new memory.
   */
  async read(
    bucket: string,
    key: string,
    inlined: number | null,
    checksum: boolean,
    room?: Uint8Array,
  ): Promise<OpenObject> {
    const path = `${bucket}/${key}`;
    const cached = native.storageReadNow(this.#fd, path, inlined, checksum, room ?? null);
    if (typeof cached !== 'number') {
      const isInRoom = room !== undefined && inlined !== null && cached.fd < 0;
      return isInRoom ? { ...cached, bytes: room.subarray(0, cached.size) } : cached;
    }
    const found =
      cached === EAGAIN ? await native.storageRead(this.#fd, path, inlined, checksum) : cached;
    if (typeof found !== 'number') return found;
    this.checkBucket(bucket); // a missing one has another error
    throw systemError(found);
  }

  checkBucket(bucket: string): void {
    const fd = this.openFolder(bucket, '');
    if (fd === undefined) {
      const obstacle = obstacleAt(this.#at(bucket));
      const detail = obstacle && `${obstacle}, which is no bucket, has this name on the server`;
      throw new ObjectError('NoSuchBucket', { detail });
    }
    native.closeDescriptor(fd);
  }

  /** A descriptor of a folder in a bucket, which the caller closes. Undefined if there is none. */
  openFolder(bucket: string, folder: string): number | undefined {
    return this.#open(folder === '' ? bucket : `${bucket}/${folder}`);
  }

  #open(path: string): number | undefined {
    const fd = native.storageFolder(this.#fd, path, false);
    if (fd >= 0) return fd;
    if (isAbsent(fd)) return undefined;
    throw systemError(fd);
  }

  /** The names of the buckets, sorted. */
  async buckets(): Promise<string[]> {
    const entries = await readdir(this.#at('.'), { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    return names.filter((name) => !name.startsWith('.')).sort();
  }

  async createBucket(bucket: string): Promise<void> {
    try {
      mkdirSync(this.#at(bucket));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const obstacle = obstacleAt(this.#at(bucket));
      if (obstacle === undefined) throw new ObjectError('BucketAlreadyOwnedByYou');
      const detail = `${obstacle} has the name of the bucket on the server`;
      throw new ObjectError('BucketAlreadyExists', { detail });
    }
    await this.#sync('.');
  }

  async deleteBucket(bucket: string): Promise<void> {
    this.checkBucket(bucket);
    if (!this.#removeBucket(bucket)) {
      await removeFoldersIn(this, bucket, '');
      if (!this.#removeBucket(bucket)) throw new ObjectError('BucketNotEmpty');
    }
    await this.#sync('.');
  }

  #removeBucket(bucket: string): boolean {
    try {
      rmdirSync(this.#at(bucket));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
      return false;
    }
  }

  async #sync(path: string): Promise<void> {
    if (this.#durable) await syncFolder(this.#at(path));
  }

  /** A time that no other version has: two may have the same length, and one after the other the same inode. */
  newTime(): number {
    this.#lastTime = Math.max(Date.now() * 1000, this.#lastTime + 1);
    return this.#lastTime;
  }

  /** Gives a new file its time and its checksum, and brings it to the disk if it becomes an object. */
  async finish({ handle }: NewFile, checksum: string, isObject = true): Promise<Version> {
    const modified = this.newTime();
    // A file system without attributes only costs the computation of the checksum at each GET that asks for it.
    if (checksum) native.storageSetChecksum(handle.fd, `${modified} ${checksum}`);
    const seconds = (modified + 0.5) / 1e6; // Node.js rounds down
    await handle.utimes(seconds, seconds);
    if (this.#durable && isObject) await handle.sync();
    return versionOf(await handle.stat({ bigint: true }));
  }

  /**
   * Lets a new file take the place of an object.
   *
   * @param check throws if the version that is replaced is not the right one. No other change comes between.
   * @returns whether an object was replaced.
   */
  async replace(file: NewFile, bucket: string, key: string, check: CheckVersion): Promise<boolean> {
    const [folder, name] = splitKey(key);
    this.checkBucket(bucket);
    const below = folder === '' ? bucket : `${bucket}/${folder}`;
    const isNew = this.#isMissing(below);
    // Synchronous, so that no other request runs between the check and the change.
    const replaced = await this.#withRoom(bucket, key, () =>
      withParent(check, () =>
        withFolder(this.#fd, below, isNew, (fd) => {
          const path = inFolder(fd, name);
          const version = checkReplaced(path, check);
          moveTo(path, file);
          return version !== undefined;
        }),
      ),
    );
    await this.#syncPath(bucket, isNew ? folder : '', below);
    return replaced;
  }

  #isMissing(path: string): boolean {
    const fd = native.storageFolder(this.#fd, path, false);
    if (fd >= 0) native.closeDescriptor(fd);
    return fd === ENOENT;
  }

  /** The entries of a folder, and of those above it up to the bucket if they may be new. */
  async #syncPath(bucket: string, created: string, below: string): Promise<void> {
    if (!this.#durable) return;
    const above =
      created === '' ? [] : [bucket, ...prefixesOf(created).map((at) => `${bucket}/${at}`)];
    for (const path of new Set([...above, below])) {
      const fd = this.#open(path);
      if (fd === undefined) continue; // a DELETE has removed it
      try {
        await syncFolder(inFolder(fd, '.'));
      } finally {
        native.closeDescriptor(fd);
      }
    }
  }

  /** Refuses a change as replace() does, before the bytes travel. */
  async checkReplace(bucket: string, key: string, check: CheckVersion): Promise<void> {
    const [folder, name] = splitKey(key);
    this.checkBucket(bucket);
    const below = folder === '' ? bucket : `${bucket}/${folder}`;
    if (this.#isMissing(below)) {
      check(undefined);
      return;
    }
    await this.#withRoom(bucket, key, () =>
      withParent(check, () =>
        withFolder(this.#fd, below, false, (fd) => checkReplaced(inFolder(fd, name), check)),
      ),
    );
  }

  /** Calls `change`, once more if only folders without objects were in the way of a key. */
  async #withRoom<T>(bucket: string, key: string, change: () => T): Promise<T> {
    try {
      return change();
    } catch (error) {
      const isConflict = error instanceof ObjectError && error.code === 'KeyConflict';
      if (!isConflict || !(await removeFolders(this, bucket, key))) throw error;
      return change();
    }
  }

  /** Removes an object, and the folders that are empty then. Does nothing if there is none. */
  async remove(bucket: string, key: string, check: CheckVersion): Promise<void> {
    let [folder, name] = splitKey(key);
    this.checkBucket(bucket);
    const below = this.openFolder(bucket, folder);
    if (below === undefined) return check(undefined);
    let version: Version | undefined;
    try {
      const path = inFolder(below, name);
      version = objectAt(path);
      check(version);
      if (version) unlinkSync(path);
    } finally {
      native.closeDescriptor(below);
    }
    let isEmpty = version !== undefined || (await removeFolders(this, bucket, key));
    if (!isEmpty) return;
    while (folder !== '' && isEmpty) {
      isEmpty = removeEmpty(this, bucket, folder);
      if (isEmpty) [folder] = splitKey(folder);
    }
    await this.#syncPath(bucket, '', folder === '' ? bucket : `${bucket}/${folder}`);
  }
}

function moveTo(path: string, file: NewFile): void {
  try {
    renameSync(file.path, path);
  } catch (error) {
    const isLost = isAbsent((error as NodeJS.ErrnoException).errno) && !existsSync(file.path);
    throw isLost ? lostOwn(error) : error;
  }
}
