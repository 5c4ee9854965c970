// Entries as services keep them: JSON with the address and the lease. Whoever may write to a service may write anything, so
// what is not an entry is ignored with one warning.
import { MAX_MILLISECONDS } from '../base/checks.js';
import { isAddress, isName } from '../base/directory.js';
import { errnoByCode } from '../base/error-codes.js';
import type { StoredEntry } from './store.js';

/** The maximum size of a record in bytes. An address has at most six bytes for each of its characters. */
export const MAX_RECORD = 2 ** 19;

/** The maximum number of characters of all addresses, or of all records, of a group. */
export const MAX_LIST = 256 * 2 ** 20;

/** The error of a group that has more. */
export class TooLongError extends Error {
  readonly errno = -errnoByCode.FI_EMSGSIZE;

  constructor(message = `the group has more than ${MAX_LIST / 2 ** 20} MiB of records`) {
    super(message);
  }
}

export const recordOf = ({ address, ttl, writer }: StoredEntry): string =>
  JSON.stringify({ address, ttl, writer });

/** Whether a record is that of an entry by another writer. What has no writer is damage, which its owner repairs. */
export function isOfAnother(record: string, { writer }: StoredEntry): boolean {
  try {
    const { writer: other } = Object(JSON.parse(record));
    return typeof other === 'string' && other !== writer;
  } catch {
    return false;
  }
}

/** The entry of a record: an object, or its JSON. Undefined, with a warning, if the record is malformed. */
export function entryOf(
  where: string,
  group: string,
  id: unknown,
  record: unknown,
): StoredEntry | undefined {
  const entry = parse(id, record);
  if (entry === undefined) ignore(where, group, id, record);
  return entry;
}

/** The entries of what a store has returned. */
export function entriesOf(where: string, group: string, found: unknown): readonly StoredEntry[] {
  if (!Array.isArray(found)) throw new TypeError('list() must resolve to an array of entries');
  const entries = found.flatMap((entry) => {
    try {
      return entryOf(where, group, entry.id, entry) ?? [];
    } catch {
      ignore(where, group, '', entry);
      return [];
    }
  });
  let length = 0;
  for (const { address } of entries) length += address.length;
  if (length > MAX_LIST) throw new TooLongError();
  return entries;
}

function parse(id: unknown, record: unknown): StoredEntry | undefined {
  try {
    const isText = typeof record === 'string';
    if (isText && record.length > MAX_RECORD) return undefined;
    const { address, ttl } = isText ? JSON.parse(record) : Object(record);
    const isLease = typeof ttl === 'number' && ttl > 0 && ttl <= MAX_MILLISECONDS;
    return isName(id) && isAddress(address) && isLease ? { id, address, ttl } : undefined;
  } catch {
    return undefined;
  }
}

function ignore(where: string, group: string, id: unknown, record: unknown): void {
  const name = textOf(id);
  warnOnce(`${where} has a malformed entry in ${group}`, name, `${name} ${textOf(record)}`);
}

const MAX_WARNED = 1000;
const MAX_DETAILS = 64; // characters
const warned = new Set<string>();

/**
 * Warns of what is ignored, once in a process.
 *
 * @param what identifies the reason, with `where`.
 */
export function warnOnce(where: string, what: string, details: string): void {
  const key = `${where} ${what}`;
  if (warned.has(key) || warned.size >= MAX_WARNED) return;
  warned.add(key);
  process.emitWarning(
    `${where}, which is ignored: ${JSON.stringify(details.slice(0, MAX_DETAILS))}`,
    'LibfabricWarning',
  );
}

/** The begin of any value as text. */
function textOf(value: unknown): string {
  try {
    return String(value).slice(0, 200);
  } catch {
    return typeof value;
  }
}
