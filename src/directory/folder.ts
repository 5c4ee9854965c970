import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkText } from '../base/checks.js';
import { isName } from '../base/directory.js';
import { entryOf, isOfAnother, MAX_RECORD, recordOf } from './records.js';
import type { DirectoryStore, StoredEntry } from './store.js';
import { StoredDirectory, type StoredDirectoryOptions } from './stored-directory.js';

/**
 * A directory in a folder that all hosts share, over NFS for example: a file for each entry, in a folder for each group. A
 * file is written again when its lease is renewed. The clocks of the hosts may differ.
 */
export class FolderDirectory extends StoredDirectory {
  /**
   * @param folder a folder that exists.
   * @throws TypeError, RangeError for invalid arguments.
   */
  constructor(folder: string, options: StoredDirectoryOptions = {}) {
    super(new FolderStore(checkText('folder', folder)), options);
  }
}

/** What is known of a file. */
interface Known {
  /** Undefined if the file is no entry. */
  readonly entry: StoredEntry | undefined;
  /** Differs after each write. */
  readonly version: string;
  /** When the file was written, by performance.now(). */
  readonly written: number;
}

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const CLOCK_VALID = 10_000; // ms
// Files of processes that were killed are removed this much later than their leases end.
const KEPT = 60_000; // ms
const MAX_OPEN = 16; // files

class FolderStore implements DirectoryStore {
  readonly name: string;
  readonly #folder: string;
  readonly #groups = new Map<string, { files: Map<string, Known>; listed: number }>();
  // The clock of the file server less performance.now(), and when this was measured.
  #clock = { offset: 0, measured: Number.NEGATIVE_INFINITY };

  constructor(folder: string) {
    this.#folder = folder;
    this.name = `the folder ${folder}`;
  }

  async put(group: string, entry: StoredEntry): Promise<void> {
    const folder = join(this.#folder, group);
    await stat(this.#folder); // mkdir() would make a folder that is not mounted at present
    await mkdir(folder, { recursive: true });
    const part = join(folder, `.${randomBytes(8).toString('hex')}`);
    try {
      await writeFile(part, recordOf(entry));
      await rename(part, join(folder, entry.id)); // a reader never sees a part of the file
    } catch (error) {
      await rm(part, { force: true }).catch(() => {});
      throw error;
    }
  }

  async renew(group: string, entry: StoredEntry): Promise<boolean> {
    const text = await ifThere(textOf(join(this.#folder, group, entry.id)));
    if (text !== undefined && isOfAnother(text, entry)) return false;
    await this.put(group, entry);
    return true;
  }

  async remove(group: string, id: string, entry: StoredEntry): Promise<void> {
    await stat(this.#folder);
    const path = join(this.#folder, group, id);
    if ((await ifThere(textOf(path))) === recordOf(entry)) await rm(path, { force: true });
  }

  async list(group: string): Promise<readonly StoredEntry[]> {
    const began = performance.now();
    const known = this.#groups.get(group);
    const names = await this.#namesIn(group);
    const offset = names.length === 0 ? 0 : await this.#serverOffset();
    const since = known?.listed ?? Number.NEGATIVE_INFINITY;
    const found = new Map<string, Known>();
    await eachOf(names, async (name) => {
      const before = known?.files.get(name);
      // By the own clock. That of the file server tells the age of a file whose last change was not seen.
      const oldest = before === undefined ? Number.NEGATIVE_INFINITY : since;
      const writtenAt = (time: number) =>
        Math.min(Math.max(time - offset, oldest), performance.now());
      const file = await this.#read(group, name, before, writtenAt);
      if (file !== undefined) found.set(name, file);
    });
    this.#groups.set(group, { files: found, listed: began });
    void this.#removeOld(group, found, began);
    return [...found.values()].flatMap(({ entry, written }) =>
      entry !== undefined && began - written < entry.ttl ? [entry] : [],
    );
  }

  async #namesIn(group: string): Promise<string[]> {
    await stat(this.#folder);
    const names = await ifThere(readdir(join(this.#folder, group)));
    return (names ?? []).filter(isName);
  }

  async #read(
    group: string,
    name: string,
    known: Known | undefined,
    writtenAt: (time: number) => number,
  ): Promise<Known | undefined> {
    const path = join(this.#folder, group, name);
    const status = await ifThere(lstat(path));
    if (status === undefined) return undefined;
    const version = `${status.ino} ${status.mtimeMs}`;
    if (known?.version === version) return known;
    const record = status.isFile() ? await ifThere(textOf(path)) : 'not a file';
    if (record === undefined) return undefined;
    const entry = entryOf(this.name, group, name, record);
    return { entry, version, written: writtenAt(status.mtimeMs) };
  }

  /** The clock of the file server, which sets the times of all files, less performance.now(): by the time of a new file. */
  async #serverOffset(): Promise<number> {
    const now = performance.now();
    if (now - this.#clock.measured > CLOCK_VALID) {
      const path = join(this.#folder, `.${randomBytes(8).toString('hex')}`);
      try {
        await writeFile(path, '-');
        this.#clock = { offset: (await stat(path)).mtimeMs - performance.now(), measured: now };
      } catch (error) {
        if (!isReadOnly(error)) throw error;
        this.#clock = { offset: performance.timeOrigin, measured: now };
      } finally {
        await rm(path, { force: true }).catch(() => {});
      }
    }
    return this.#clock.offset;
  }

  // Files that are no entries belong to somebody else.
  async #removeOld(group: string, files: Map<string, Known>, now: number): Promise<void> {
    const isOld = ({ entry, written }: Known) =>
      entry !== undefined && now - written > entry.ttl + KEPT;
    const old = [...files].filter(([, file]) => isOld(file));
    const remove = async (name: string) =>
      rm(join(this.#folder, group, name), { force: true }).catch(() => {});
    await eachOf(
      old.map(([name]) => name),
      remove,
    );
  }

  close(): void {}
}

/** Calls `use` with all names, with a few of them at a time: each may have a file open. */
async function eachOf(names: readonly string[], use: (name: string) => Promise<void>) {
  const rest = names.values();
  const useRest = async () => {
    for (const name of rest) await use(name);
  };
  await Promise.all(Array.from({ length: MAX_OPEN }, useRest));
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
// Of open(): a file of somebody else, a link, a socket.
const NO_ENTRY = ['EACCES', 'EPERM', 'ELOOP', 'ENXIO'];
const isReadOnly = (error: unknown) => ['EACCES', 'EROFS', 'EPERM'].includes(codeOf(error) ?? '');

/** The text of a file. A file that this process may not read, or that is too large for an entry, has other text. */
async function textOf(path: string): Promise<string> {
  try {
    // A FIFO, a device or a link that takes the place of the file is neither waited for nor followed.
    await using file = await open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    const status = await file.stat();
    if (!status.isFile() || status.size > MAX_RECORD) return `${status.size} bytes`;
    const bytes = Buffer.alloc(status.size);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytes.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (!NO_ENTRY.includes(codeOf(error) ?? '')) throw error;
    return `cannot be read: ${codeOf(error)}`;
  }
}

/** Undefined if there is no such file. */
async function ifThere<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
