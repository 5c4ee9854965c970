// Entries as services keep them: JSON with the address and the lease.
import { MAX_MILLISECONDS } from '../base/checks.js';
import { isName } from '../base/directory.js';
import type { StoredEntry } from './store.js';

export const recordOf = ({ address, ttl }: StoredEntry): string => JSON.stringify({ address, ttl });

const MAX_WARNED = 1000;
const warned = new Set<string>();

/** The entry of a record. Undefined, with a warning, if the record is malformed. */
export function entryOf(where: string, group: string, id: string, record: unknown) {
  const entry = parse(id, record);
  if (entry === undefined)
    warnOnce(`${where} has a malformed entry in ${group}`, `${id} ${record}`);
  return entry;
}

function parse(id: string, record: unknown): StoredEntry | undefined {
  try {
    const { address, ttl } = typeof record === 'string' ? JSON.parse(record) : Object(record);
    const isLease = typeof ttl === 'number' && ttl > 0 && ttl <= MAX_MILLISECONDS;
    return isName(id) && typeof address === 'string' && isLease ? { id, address, ttl } : undefined;
  } catch {
    return undefined;
  }
}

function warnOnce(text: string, details: string): void {
  const warning = `${text}, which is ignored: ${JSON.stringify(details.slice(0, 64))}`;
  if (warned.has(warning) || warned.size >= MAX_WARNED) return;
  warned.add(warning);
  process.emitWarning(warning, 'LibfabricWarning');
}
