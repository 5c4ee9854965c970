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
  // When entries that no update has had were added, by their ids.
  readonly #added = new Map<string, number>();

  /** The directory could not be reached for a while. */
  interrupted(): void {
    this.#isInterrupted = true;
  }

  /**
   * Adds entries that the directory has, and that the next update may be too old to have. Without an update, they stay for
   * one lease. Entries that are there stay as they are.
   */
  add(found: readonly LeasedEntry[], now: number): void {
    for (const entry of found) {
      if (this.#entries.has(entry.id)) continue;
      this.#entries.set(entry.id, entry);
      this.#added.set(entry.id, now);
    }
  }

  /** The entries that are not among these ids. */
  missing(ids: ReadonlySet<string>): readonly LeasedEntry[] {
    return [...this.#entries.values()].filter(({ id }) => !ids.has(id));
  }

  /** Sets what the directory has. Returns whether the view has changed. `now` is in milliseconds of any clock. */
  update(found: readonly LeasedEntry[], now: number): boolean {
    if (this.#isInterrupted) this.#back = now;
    this.#isInterrupted = false;
    const before = this.#entries;
    const entries = new Map(found.map((entry) => [entry.id, entry]));
    for (const id of entries.keys()) this.#added.delete(id);
    for (const [id, entry] of before) {
      if (entries.has(id)) continue;
      if (now < this.#graceOf(entry)) entries.set(id, entry);
      else this.#added.delete(id);
    }
    this.#entries = entries;
    const isSame = ({ id, address }: LeasedEntry) => before.get(id)?.address === address;
    return entries.size !== before.size || ![...entries.values()].every(isSame);
  }

  // When an entry that is missing ends.
  #graceOf({ id, ttl }: LeasedEntry): number {
    return Math.max(this.#back, this.#added.get(id) ?? this.#back) + ttl;
  }

  /** Milliseconds after which the view must be updated again, because entries that are missing may have ended. */
  graceLeft(now: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (const entry of this.#entries.values()) {
      const left = this.#graceOf(entry) - now;
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
