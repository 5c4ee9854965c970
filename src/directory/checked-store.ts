import { within } from '../base/wait-options.js';
import { entriesOf } from './records.js';
import type { DirectoryStore, StoredEntry } from './store.js';

// Longer than the timeouts of this package's stores, for a store that has none, and than those of a directory's calls, whose
// errors name them.
const TIMEOUT = 16_000; // ms

/** A store whose calls reject if they do not settle in time, and which has no malformed entries. */
export class CheckedStore implements DirectoryStore {
  readonly name: string;
  readonly follow?: NonNullable<DirectoryStore['follow']>;
  readonly #store: DirectoryStore;

  constructor(store: DirectoryStore) {
    this.name = store.name;
    this.#store = store;
    if (store.follow !== undefined) {
      this.follow = async (group, changed, signal) => store.follow?.(group, changed, signal);
    }
  }

  put(group: string, entry: StoredEntry): Promise<void> {
    return limited('put', async () => this.#store.put(group, entry));
  }

  /**
   * Resolves to false if another writer has written an entry with the same id.
   *
   * @param timeout the milliseconds until the call rejects. It may still be carried out.
   */
  renew(group: string, entry: StoredEntry, timeout = TIMEOUT): Promise<boolean> {
    const renewed = async () =>
      this.#store.renew === undefined
        ? this.#store.put(group, entry).then(() => true)
        : this.#store.renew(group, entry);
    return limited('renew', renewed, timeout);
  }

  remove(group: string, id: string, entry: StoredEntry): Promise<void> {
    return limited('remove', async () => this.#store.remove(group, id, entry));
  }

  async list(group: string): Promise<readonly StoredEntry[]> {
    const found = await limited('list', async () => this.#store.list(group));
    return entriesOf(this.name, group, found);
  }

  close(): Promise<void> {
    return limited('close', async () => this.#store.close());
  }
}

function limited<T>(name: string, call: () => Promise<T>, timeout = TIMEOUT): Promise<T> {
  return within(call(), { signal: undefined, timeout, unref: true }, name);
}
