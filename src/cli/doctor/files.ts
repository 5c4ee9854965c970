import { closeSync, existsSync, openSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { linkName, namesIn, readText } from '../../verbs/sysfs.js';

/** The files of a machine, all below a root: /proc, /sys, /dev, /etc, /opt, /usr. */
export class Files {
  readonly #root: string;

  constructor(root = '/') {
    this.#root = root === '/' ? '' : realpathSync(root);
  }

  /** What a file says, without the line's end; null where it cannot be read. */
  text(path: string): string | null {
    return readText(this.#root + path);
  }

  /** A number in a file. */
  number(path: string): number | null {
    const text = this.text(path);
    return text !== null && /^-?\d+$/.test(text) ? Number(text) : null;
  }

  /** The names in a folder, sorted; none where there is no such folder. */
  names(path: string): string[] {
    return namesIn(this.#root + path).sort();
  }

  exists(path: string): boolean {
    return existsSync(this.#root + path);
  }

  /** Where a file really is, links resolved; null where there is none. */
  real(path: string): string | null {
    try {
      return realpathSync(this.#root + path).slice(this.#root.length);
    } catch {
      return null;
    }
  }

  /** The name of what a link leads to. */
  linkName(path: string): string | null {
    return linkName(this.#root + path);
  }

  /** Why a file cannot be opened to be read and written, `'EACCES'`; null where it can. */
  whyNotOpened(path: string): string | null {
    try {
      closeSync(openSync(join(this.#root, path), 'r+'));
      return null;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }
}
