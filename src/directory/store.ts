import type { DirectoryEntry } from '../base/directory.js';

/** An entry with its lease. */
export interface StoredEntry extends DirectoryEntry {
  /** Milliseconds after which the entry disappears, unless put() renews it. */
  readonly ttl: number;
}

/**
 * What a StoredDirectory needs of a service. Every call rejects if the service cannot be reached, after some seconds at
 * most. Nothing that a store keeps open should keep the process alive.
 */
export interface DirectoryStore {
  /** Names the service in errors and warnings: `'etcd at 10.0.0.2:2379'`. It must have no secrets. */
  readonly name: string;
  /** Writes an entry, or renews its lease. */
  put(group: string, entry: StoredEntry): Promise<void>;
  /** Removes an entry, if it is there. */
  remove(group: string, id: string): Promise<void>;
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
