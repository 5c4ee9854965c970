// The files of an object store that are no objects: those that may become objects, and multipart uploads.
import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { type NativeObjectFile, native } from '../contract/native.js';
import { ObjectError } from './errors.js';
import { inFolder } from './open-folders.js';
import { ifPresent, isAbsent, systemError } from './system-errors.js';

/** The folder of these files. No bucket has such a name. */
const OWN = '.libfabric';
const FOLDERS = [OWN, `${OWN}/temporary`, `${OWN}/uploads`];

const STALE = 3_600_000; // ms after the last write to a file that a server has left behind when it ended
const ENOENT = -2;
/** The names that the server gives to these files, and the ids of uploads. */
const NAME = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Whether the server has given such a name. */
export const isOwnName = (name: string): boolean => NAME.test(name);

/** A file that becomes an object, or disappears. */
export interface NewFile {
  readonly handle: FileHandle;
  readonly path: string;
}

/** The error of a request whose files of the store itself were removed, or replaced: nothing that the client can change. */
export const lostOwn = (cause: unknown): ObjectError => new ObjectError('InternalError', { cause });

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** An entry among these files. Its path follows no link, also if somebody replaces a folder meanwhile. */
interface OwnEntry {
  readonly name: string;
  readonly path: string;
  readonly stats: Stats;
}

export class OwnFiles {
  readonly #root: number;
  /** The names of the files that requests write now. */
  readonly #making = new Set<string>();

  /** @param root a descriptor of the folder of the store. */
  constructor(root: number) {
    this.#root = root;
  }

  /** The path of a file. */
  at(name: string): string {
    return inFolder(this.#root, `${OWN}/${name}`);
  }

  /** Makes the folders of these files. It follows no symbolic link. */
  async makeFolders(): Promise<void> {
    for (const path of FOLDERS.map((each) => inFolder(this.#root, each))) {
      await mkdir(path).catch((error) => {
        if (error.code !== 'EEXIST') throw error;
      });
      await (await open(path, constants.O_DIRECTORY | constants.O_NOFOLLOW)).close();
    }
  }

  /** Calls `make`, which makes a file. Makes the folders again if somebody has removed them. */
  async make<T>(make: () => Promise<T>): Promise<T> {
    try {
      return await make().catch(async (error) => {
        if (codeOf(error) !== 'ENOENT') throw error;
        await this.makeFolders();
        return make();
      });
    } catch (error) {
      throw isAbsent((error as NodeJS.ErrnoException).errno) ? lostOwn(error) : error;
    }
  }

  /** Makes a file that is no object yet. discard() it in the end. */
  async create(): Promise<NewFile> {
    const name = randomUUID();
    const path = this.at(`temporary/${name}`);
    this.#making.add(name);
    try {
      return { path, handle: await this.make(() => open(path, 'wx+')) };
    } catch (error) {
      this.#making.delete(name);
      throw error;
    }
  }

  /** Closes a new file, and removes it unless it has become an object. */
  async discard({ handle, path }: NewFile): Promise<void> {
    try {
      await handle.close();
    } finally {
      await rm(path, { force: true });
      this.#making.delete(path.slice(path.lastIndexOf('/') + 1));
    }
  }

  /**
   * Removes a folder with its files. Nothing is found in it, or gets into it, from the call on: it has another name first.
   *
   * @returns false if there is none.
   */
  async removeFolder(path: string): Promise<boolean> {
    const name = randomUUID();
    const temporary = this.at(`temporary/${name}`);
    const move = () => ifPresent(rename(path, temporary).then(() => true));
    this.#making.add(name);
    try {
      if (!(await move())) {
        await this.makeFolders(); // somebody may have removed them
        if (!(await move())) return false;
      }
      await rm(temporary, { recursive: true, force: true }).catch(() => {}); // removeStale() tries again
      return true;
    } finally {
      this.#making.delete(name);
    }
  }

  /** Opens a file, with its checksum. Undefined if there is none. Whoever opens it closes the descriptor. */
  async open(name: string): Promise<NativeObjectFile | undefined> {
    const found = await native.storageRead(this.#root, `${OWN}/${name}`, 0, true);
    if (typeof found !== 'number') return found;
    if (found === ENOENT) return undefined;
    throw systemError(found);
  }

  /** Removes what servers that were killed have left behind. */
  async removeStale(): Promise<void> {
    const before = Date.now() - STALE;
    for await (const { name, path, stats } of this.#entriesOf('temporary'))
      if (stats.mtimeMs < before && !this.#making.has(name))
        await rm(path, { recursive: true, force: true });
  }

  /** The uploads. The path of each is one until the next one is asked for. */
  async *uploads(): AsyncGenerator<OwnEntry> {
    for await (const entry of this.#entriesOf('uploads'))
      if (entry.stats.isDirectory()) yield entry;
  }

  // Whatever else is there is not the server's.
  async *#entriesOf(folder: 'temporary' | 'uploads'): AsyncGenerator<OwnEntry> {
    const fd = native.storageFolder(this.#root, `${OWN}/${folder}`, false);
    if (isAbsent(fd)) return;
    if (fd < 0) throw systemError(fd);
    try {
      for (const name of await readdir(inFolder(fd, '.'))) {
        if (!isOwnName(name)) continue;
        const path = inFolder(fd, name);
        const stats = await ifPresent(lstat(path)); // it may be removed since
        if (stats) yield { name, path, stats };
      }
    } finally {
      native.closeDescriptor(fd);
    }
  }
}
