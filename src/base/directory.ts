// What a directory is, so that libfabric/transfer can use any, and libfabric/directory has some.
import { checkMilliseconds, checkObject, checkOptions, checkString, namesOf } from './checks.js';
import { invalidArgType, invalidArgValue } from './errors.js';
import { isRevoked } from './objects.js';

/** An entry of a group: who it is, and where it is. */
export interface DirectoryEntry {
  /** Identifies the entry in its group: 1 to 200 letters, digits or `. _ : @ -`. The first is a letter or a digit. */
  readonly id: string;
  /** Any text of at most 65,536 characters, such as `engine.address`. */
  readonly address: string;
}

/** Options of `publish()`. */
export interface PublishOptions {
  /** Milliseconds after which the entry disappears if the process has died. If omitted, 10,000. */
  readonly ttl?: number;
}

/** Options of `watch()`. */
export interface WatchOptions {
  /** Ends the watch. It rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Where the members of groups find each other. Groups have names of the same form as the ids of entries. Any object with
 * these four calls will do.
 */
export interface Directory {
  /**
   * Publishes an entry. Resolves when the others can see it. The directory keeps the entry until withdraw(), and
   * publishes it again after an outage. If the process dies, the entry disappears after `ttl` milliseconds.
   */
  publish(group: string, entry: DirectoryEntry, options?: PublishOptions): Promise<void>;
  /** Removes an entry that this object has published. Resolves when the others no longer see it. */
  withdraw(group: string, id: string): Promise<void>;
  /** The entries of a group now. */
  lookup(group: string): Promise<readonly DirectoryEntry[]>;
  /**
   * The entries of a group, at first and after each change. While the directory cannot be reached, nothing changes. An
   * iterable that ends or throws is asked for again.
   */
  watch(group: string, options?: WatchOptions): AsyncIterable<readonly DirectoryEntry[]>;
}

/** The lease of an entry if the call names none, in milliseconds. */
export const DEFAULT_TTL = 10_000;
// A shorter lease would end while a busy process does something else.
const MIN_TTL = 100;

const NAME = /^[a-zA-Z0-9][\w.:@-]{0,199}$/;

export const isName = (value: unknown): value is string =>
  typeof value === 'string' && NAME.test(value);

/** Checks the name of a group or the id of an entry. */
export function checkName(name: string, value: unknown): string {
  const text = checkString(name, value);
  if (NAME.test(text)) return text;
  throw invalidArgValue(
    name,
    'must have 1 to 200 letters, digits or . _ : @ -, and begin with a letter or a digit',
  );
}

const MAX_ADDRESS = 65_536; // characters

export const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_ADDRESS;

export function checkEntry(entry: DirectoryEntry): DirectoryEntry {
  const { id, address } = checkObject('entry', entry);
  const text = checkString('entry.address', address);
  if (!isAddress(text)) {
    throw invalidArgValue('entry.address', `must have at most ${MAX_ADDRESS} characters`);
  }
  return { id: checkName('entry.id', id), address: text };
}

/** Checks a lease in milliseconds. */
export function checkTtl(ttl: unknown): number {
  return ttl === undefined ? DEFAULT_TTL : checkMilliseconds('options.ttl', ttl, MIN_TTL);
}

const PUBLISH = namesOf<PublishOptions>({ ttl: 1 });

export const ttlOf = (options: PublishOptions | undefined): number =>
  checkTtl(checkOptions('options', options, PUBLISH).ttl);

/** Checks for an object with the calls of a directory. */
export function checkDirectory(name: string, value: unknown): Directory {
  const directory = isRevoked(value) ? undefined : (value as Partial<Directory> | null | undefined);
  const calls = ['publish', 'withdraw', 'lookup', 'watch'] as const;
  if (calls.every((call) => typeof directory?.[call] === 'function')) return value as Directory;
  throw invalidArgType(name, `a directory: an object with ${calls.join('(), ')}()`, value);
}
