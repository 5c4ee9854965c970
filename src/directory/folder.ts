import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkString } from '../base/checks.js';
import { isName } from '../base/directory.js';
import { entryOf, recordOf } from './records.js';
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
    super(new FolderStore(checkString('folder', folder)), options);
  }
}

/** What is known of a file. Times are milliseconds. */
interface Known {
  readonly entry: StoredEntry | undefined;
  /** The time of the file's last change, by the clock of the file server. */
  readonly changed: number;
  /** A time before that change, by performance.now(). */
  readonly changedAfter: number;
}

const CLOCK_VALID = 10_000; // ms
// Files of processes that were killed are removed this much later than their leases end.
const KEPT = 60_000; // ms

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

  async remove(group: string, id: string): Promise<void> {
    await stat(this.#folder);
    await rm(join(this.#folder, group, id), { force: true });
  }

  async list(group: string): Promise<readonly StoredEntry[]> {
    const began = performance.now();
    const known = this.#groups.get(group);
    const names = await this.#namesIn(group);
    const now = names.length === 0 ? 0 : await this.#serverTime();
    const since = known?.listed ?? Number.NEGATIVE_INFINITY;
    const files = await Promise.all(
      names.map((name) => this.#read(group, name, known?.files.get(name), since)),
    );
    const found = new Map(files.flatMap((file, i) => (file ? [[names[i] as string, file]] : [])));
    this.#groups.set(group, { files: found, listed: began });
    void this.#removeOld(group, found, now);
    return [...found.values()].flatMap(({ entry, changed, changedAfter }) => {
      if (entry === undefined) return [];
      // By the clock of the file server. After a step of that clock: by changes that were seen.
      const isLive = now - changed < entry.ttl || began - changedAfter < entry.ttl;
      return isLive ? [entry] : [];
    });
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
    since: number,
  ): Promise<Known | undefined> {
    const path = join(this.#folder, group, name);
    const status = await ifThere(stat(path));
    if (status === undefined) return undefined;
    const changed = status.mtimeMs;
    if (known?.changed === changed) return known;
    const text = await ifThere(readFile(path, 'utf8'));
    if (text === undefined) return undefined;
    const changedAfter = known === undefined ? Number.NEGATIVE_INFINITY : since;
    return { entry: entryOf(this.name, group, name, text), changed, changedAfter };
  }

  /** The time by the clock of the file server, which also sets the times of all files: the time of a new file. */
  async #serverTime(): Promise<number> {
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
    return performance.now() + this.#clock.offset;
  }

  async #removeOld(group: string, files: Map<string, Known>, now: number): Promise<void> {
    const isOld = ({ entry, changed }: Known) => now - changed > (entry?.ttl ?? 0) + KEPT;
    const old = [...files].filter(([, file]) => isOld(file));
    const paths = old.map(([name]) => join(this.#folder, group, name));
    await Promise.allSettled(paths.map((path) => rm(path, { force: true })));
  }

  close(): void {}
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
const isReadOnly = (error: unknown) => ['EACCES', 'EROFS', 'EPERM'].includes(codeOf(error) ?? '');

/** Undefined if there is no such file. */
async function ifThere<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
