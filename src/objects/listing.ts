// The keys of a bucket in the order of S3, which is that of their bytes in UTF-8.
import { lstat, readdir } from 'node:fs/promises';
import { native } from '../contract/native.js';
import { Budget, inPlaceOf } from './budget.js';
import type { ObjectFolder } from './folder.js';
import { wrongKey } from './keys.js';
import { inFolder, splitKey, versionOf } from './open-folders.js';
import { ifPresent } from './system-errors.js';
import { etagOf, secondsOf } from './versions.js';

/** Which keys a list has. */
interface KeyQuery {
  readonly prefix: string;
  /** Keys that have it after the prefix appear as one prefix. Empty: none. */
  readonly delimiter: string;
  /** Only keys, and prefixes, after this one. */
  readonly after: string;
}

/** What a page of a list has. */
export interface ListQuery extends KeyQuery {
  /** The most keys and prefixes. */
  readonly limit: number;
  /** The most bytes of the page, of which each entry has `bytesOf(key)`. A page has one entry at least. */
  readonly room: number;
  readonly bytesOf: (key: string) => number;
}

/** An object in a list. */
export interface ListedObject {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly etag: string;
  readonly lastModified: Date;
}

export interface Page {
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly string[];
  /** Where the next page begins. Undefined: this is the last one. */
  readonly next: string | undefined;
}

const SURROGATE = /[\ud800-\udfff]/;

// Only with surrogates is the order of UTF-16 another than that of UTF-8.
function compare(a: string, b: string): number {
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a === b ? 0 : a < b ? -1 : 1;
}

interface Entry {
  /** The key of an object, or that of a folder with a slash. */
  readonly key: string;
  readonly isFolder: boolean;
}

/** The entries of a folder, sorted. Names that are no UTF-8 are those of no object. */
async function entriesOf(fd: number, folder: string): Promise<Entry[]> {
  const found = await ifPresent(
    readdir(inFolder(fd, '.'), { withFileTypes: true, encoding: 'buffer' }),
  );
  const entries = (found ?? []).flatMap((entry) => {
    if (!entry.isDirectory() && !entry.isFile()) return [];
    const name = Buffer.from(entry.name).toString();
    if (!Buffer.from(name).equals(entry.name)) return [];
    const key = `${folder}${name}`;
    if (wrongKey(key)) return [];
    const isFolder = entry.isDirectory();
    return [{ key: isFolder ? `${key}/` : key, isFolder }];
  });
  return entries.sort((a, b) => compare(a.key, b.key));
}

class Walk {
  readonly #folder: ObjectFolder;
  readonly #bucket: string;

  constructor(folder: ObjectFolder, bucket: string) {
    this.#folder = folder;
    this.#bucket = bucket;
  }

  /**
   * The keys with a prefix.
   *
   * @param after may be within a folder, or the key of a folder: then nothing of it.
   */
  async *keys(folder: string, { prefix, delimiter, after }: KeyQuery): AsyncGenerator<string> {
    for (const { key, isFolder } of await this.#entries(folder)) {
      const isWithin = key.startsWith(prefix) || (isFolder && prefix.startsWith(key));
      if (!isWithin || (compare(key, after) <= 0 && !(isFolder && after.startsWith(key)))) continue;
      if (!isFolder) yield key;
      else if (delimiter === '/' && key.length > prefix.length && key.startsWith(prefix)) {
        if (after !== key && (await this.#hasObject(key, after))) yield key;
      } else yield* this.keys(key, { prefix, delimiter, after });
    }
  }

  async #hasObject(folder: string, after: string): Promise<boolean> {
    const keys = this.keys(folder, { prefix: folder, delimiter: '', after });
    return !(await keys.next()).done;
  }

  async #entries(folder: string): Promise<Entry[]> {
    const fd = this.#folder.openFolder(this.#bucket, folder.slice(0, -1));
    if (fd === undefined) return []; // removed since
    try {
      return await entriesOf(fd, folder);
    } finally {
      native.closeDescriptor(fd);
    }
  }

  /** The objects with these keys. Those that were removed since are left out. */
  async describe(keys: readonly string[]): Promise<ListedObject[]> {
    const objects: ListedObject[] = [];
    for (const [folder, names] of byFolder(keys))
      objects.push(...(await this.#describe(folder, names)));
    return objects;
  }

  async #describe(folder: string, names: readonly string[]): Promise<ListedObject[]> {
    const fd = this.#folder.openFolder(this.#bucket, folder);
    if (fd === undefined) return [];
    try {
      const described = names.map(async (name) => {
        const stats = await ifPresent(lstat(inFolder(fd, name), { bigint: true }));
        if (!stats?.isFile()) return [];
        const version = versionOf(stats);
        const lastModified = new Date(secondsOf(version));
        const key = folder === '' ? name : `${folder}/${name}`;
        return [{ key, size: version.size, etag: etagOf(version), lastModified }];
      });
      return (await Promise.all(described)).flat();
    } finally {
      native.closeDescriptor(fd);
    }
  }
}

/** Keys that follow each other and are in one folder, so that a list has one descriptor at a time. */
function byFolder(keys: readonly string[]): (readonly [folder: string, names: string[]])[] {
  const folders: (readonly [string, string[]])[] = [];
  for (const key of keys) {
    const [folder, name] = splitKey(key);
    const last = folders.at(-1);
    if (last?.[0] === folder) last[1].push(name);
    else folders.push([folder, [name]]);
  }
  return folders;
}

/** Lists in progress. Each has the names of whole folders in memory; further ones wait. */
const listing = new Budget(4);

/** One page of a list. */
export function listPage(folder: ObjectFolder, bucket: string, query: ListQuery): Promise<Page> {
  folder.checkBucket(bucket);
  return inPlaceOf(listing, () => pageOf(folder, bucket, query));
}

async function pageOf(folder: ObjectFolder, bucket: string, query: ListQuery): Promise<Page> {
  const { prefix, delimiter, after, limit, room, bytesOf } = query;
  const walk = new Walk(folder, bucket);
  const keys: string[] = [];
  const prefixes: string[] = [];
  let last = after;
  let left = room;
  let next: string | undefined;
  const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  const isPossible = start === '' || !wrongKey(start.slice(0, -1)); // no key begins with another one
  for await (const key of limit > 0 && isPossible ? walk.keys(start, query) : []) {
    const at = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    const group = at < 0 ? undefined : key.slice(0, at + delimiter.length);
    if (group !== undefined && (group === prefixes.at(-1) || group === after)) continue;
    const count = keys.length + prefixes.length;
    left -= bytesOf(group ?? key);
    if (count === limit || (count > 0 && left < 0)) {
      next = last;
      break;
    }
    if (group === undefined) keys.push(key);
    else prefixes.push(group);
    last = group ?? key;
  }
  return { objects: await walk.describe(keys), prefixes, next };
}
