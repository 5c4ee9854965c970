import type { DirectoryEntry } from './directory.js';

/** An entry with its lease in milliseconds. */
export interface LeasedEntry extends DirectoryEntry {
  readonly ttl: number;
}

/**
 * The entries of a group, as a watcher should see them. After an outage, the leases of all entries may have ended, although
 * their owners live. So an entry that is missing then stays for one lease more, in which its owner publishes it again.
 */
export class DirectoryView {
  #entries = new Map<string, LeasedEntry>();
  #isInterrupted = false;
  #back = Number.NEGATIVE_INFINITY;

  /** The directory could not be reached for a while. */
  interrupted(): void {
    this.#isInterrupted = true;
  }

  /** Sets what the directory has. Returns whether the view has changed. `now` is in milliseconds of any clock. */
  update(found: readonly LeasedEntry[], now: number): boolean {
    if (this.#isInterrupted) this.#back = now;
    this.#isInterrupted = false;
    const before = this.#entries;
    const entries = new Map(found.map((entry) => [entry.id, entry]));
    for (const [id, entry] of before) {
      if (!entries.has(id) && now < this.#back + entry.ttl) entries.set(id, entry);
    }
    this.#entries = entries;
    const isSame = ({ id, address }: LeasedEntry) => before.get(id)?.address === address;
    return entries.size !== before.size || ![...entries.values()].every(isSame);
  }

  /** Milliseconds after which the view must be updated again, because entries that are missing may have ended. */
  graceLeft(now: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { ttl } of this.#entries.values()) {
      const left = this.#back + ttl - now;
      if (left > 0) least = Math.min(least, left);
    }
    return least;
  }

  /** The entries, in the order of their ids. */
  list(): readonly DirectoryEntry[] {
    return [...this.#entries.values()]
      .map(({ id, address }) => ({ id, address }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
