import type { DirectoryEntry } from '../base/directory.js';

/** An entry with its lease. */
export interface StoredEntry extends DirectoryEntry {
  /** Milliseconds after which the entry disappears, unless put() renews it. */
  readonly ttl: number;
  /** Identifies the object that has published the entry. Keep it with the entry: it tells entries of one id apart. */
  readonly writer?: string;
}

/**
 * What a StoredDirectory needs of a service. Every call rejects if the service cannot be reached, after some seconds at
 * most. Nothing that a store keeps open should keep the process alive.
 */
export interface DirectoryStore {
  /** Names the service in errors and warnings: `'etcd at 10.0.0.2:2379'`. It must have no secrets. */
  readonly name: string;
  /** Writes an entry, in place of one of any writer. Without renew(), it also renews the lease of the entry. */
  put(group: string, entry: StoredEntry): Promise<void>;
  /**
   * Renews the lease of an entry, and writes the entry if none has its id. If another writer has written one with its id, does
   * nothing and resolves to false.
   */
  renew?(group: string, entry: StoredEntry): Promise<boolean>;
  /** Removes an entry, if it is there. Does nothing if another writer has written one with its id: `entry.writer` differs. */
  remove(group: string, id: string, entry: StoredEntry): Promise<void>;
  /** The entries whose leases have not ended. */
  list(group: string): Promise<readonly StoredEntry[]>;
  /**
   * If the service reports changes: calls `changed` when changes begin to be reported, and after each. Rejects if the
   * service can no longer report them; resolves after the signal's abort.
   */
  follow?(group: string, changed: () => void, signal: AbortSignal): Promise<void>;
  /** Ends connections. */
  close(): Promise<void> | void;
}
