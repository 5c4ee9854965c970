import { closeSync, existsSync, openSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { linkName, namesIn, readText } from '../../base/sysfs.js';

/** The files of a machine, relative to a root: /proc, /sys, /dev, /etc, /opt, /usr. */
export class Files {
  readonly #root: string;

  constructor(root = '/') {
    this.#root = root === '/' ? '' : realpathSync(root);
  }

  /** A file's text without its final newline; null if the file cannot be read. */
  text(path: string): string | null {
    return readText(this.#root + path);
  }

  /** A number in a file. */
  number(path: string): number | null {
    const text = this.text(path);
    return text !== null && /^-?\d+$/.test(text) ? Number(text) : null;
  }

  /** The names in a folder, sorted; empty if there is no such folder. */
  names(path: string): string[] {
    return namesIn(this.#root + path).sort();
  }

  exists(path: string): boolean {
    return existsSync(this.#root + path);
  }

  /** A file's path with links resolved; null if there is no such file. */
  real(path: string): string | null {
    try {
      return realpathSync(this.#root + path).slice(this.#root.length);
    } catch {
      return null;
    }
  }

  /** The name of a link's target. */
  linkName(path: string): string | null {
    return linkName(this.#root + path);
  }

  /** Why a file cannot be opened for reading and writing, such as `'EACCES'`; null if it can. */
  whyNotOpened(path: string): string | null {
    try {
      closeSync(openSync(join(this.#root, path), 'r+'));
      return null;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }
}
