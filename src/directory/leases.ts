import { randomBytes } from 'node:crypto';
import { Deferred } from '../base/deferred.js';
import { Outage } from '../base/outage.js';
import { Pause } from '../base/pause.js';
import type { CheckedStore } from './checked-store.js';
import type { StoredEntry } from './store.js';

// Leases are renewed three times in their time, so that two renewals may fail.
const RENEWALS = 3;
const MAX_RETRY = 1000; // ms
// A renewal that does not settle must leave time for another one. A service may take this long, whatever the lease.
const MIN_TIMEOUT = 1000; // ms

/** An entry that is renewed until stop(). */
export class Lease {
  readonly group: string;
  readonly entry: StoredEntry;
  /** Resolves when the entry is renewed no more. */
  ended: Promise<unknown> = Promise.resolve();
  readonly #pause = new Pause();
  readonly #outage: Outage;
  #isStopped = false;
  #isReplaced = false;
  // When the last renewal began that has succeeded, and whether the last one has failed.
  #renewed = performance.now();
  #isFailing = false;
  #next: Deferred<void> | undefined;

  constructor(store: CheckedStore, group: string, entry: StoredEntry) {
    this.group = group;
    this.entry = entry;
    this.#outage = new Outage(`renew the entry ${entry.id} of ${group} in ${store.name}`);
  }

  /** Whether another writer has written an entry with the same id. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  stop(): void {
    this.#isStopped = true;
    this.#pause.wake();
    this.#next?.resolve();
  }

  /**
   * Whether a renewal has succeeded in the last `time` milliseconds, and none has failed since. If none was made in this time,
   * makes one.
   */
  async isRenewed(time: number): Promise<boolean> {
    if (this.#isFailing || this.#isStopped || this.#isReplaced) return !this.#isFailing;
    if (performance.now() - this.#renewed > time) await this.renewNow();
    return !this.#isFailing;
  }

  /** Renews the entry at once. Resolves when that has succeeded or failed. */
  renewNow(): Promise<void> {
    this.#next ??= new Deferred<void>();
    this.#pause.wake();
    return this.#next.promise;
  }

  /** Renews the entry in time. After a failure, more often, so that it is back soon after the service. */
  async renew(store: CheckedStore): Promise<void> {
    const interval = this.entry.ttl / RENEWALS;
    const timeout = Math.max(interval, MIN_TIMEOUT);
    for (let wait = interval; ; ) {
      await this.#pause.for(wait);
      if (this.#isStopped) return;
      const began = performance.now();
      try {
        this.#isReplaced = !(await store.renew(this.group, this.entry, timeout));
        this.#outage.isOver();
        this.#renewed = began;
        this.#isFailing = false;
        wait = interval;
      } catch (error) {
        this.#outage.goesOn(error);
        this.#isFailing = true;
        wait = Math.min(interval, MAX_RETRY);
      }
      this.#next?.resolve();
      this.#next = undefined;
      if (this.#isReplaced) return;
    }
  }
}

/** The entries that this process has published. */
export class Leases {
  readonly #store: CheckedStore;
  readonly #writer = randomBytes(8).toString('hex');
  readonly #leases = new Map<string, Lease>();
  // The last call of each entry that has not ended. The store gets the calls of an entry one after the other.
  readonly #last = new Map<string, Promise<void>>();

  constructor(store: CheckedStore) {
    this.#store = store;
  }

  async publish(group: string, published: StoredEntry): Promise<void> {
    const entry = { ...published, writer: this.#writer };
    const key = `${group}/${entry.id}`;
    const lease = new Lease(this.#store, group, entry);
    const previous = this.#leases.get(key);
    this.#leases.set(key, lease);
    const forget = () => {
      if (this.#leases.get(key) === lease) this.#leases.delete(key);
    };
    const written = this.#next(key, previous, () => this.#store.put(group, entry));
    lease.ended = written
      .then(() => lease.renew(this.#store))
      .then(() => lease.isReplaced && forget())
      .catch(() => {});
    try {
      await written;
    } catch (error) {
      forget();
      throw error;
    }
  }

  async withdraw(group: string, id: string): Promise<void> {
    const key = `${group}/${id}`;
    const lease = this.#leases.get(key);
    if (lease === undefined) return;
    this.#leases.delete(key);
    await this.#next(key, lease, () => this.#store.remove(group, id, lease.entry));
  }

  /** The leases of a group that are published, by the ids of their entries. */
  of(group: string): ReadonlyMap<string, Lease> {
    const leases = [...this.#leases.values()].filter((lease) => lease.group === group);
    return new Map(leases.map((lease) => [lease.entry.id, lease]));
  }

  /** Whether the service takes what this process writes, as far as entries of `ttl` milliseconds show it to others. */
  async areRenewed(ttl: number): Promise<boolean> {
    const renewed = [...this.#leases.values()].map((lease) => lease.isRenewed(ttl / 2));
    return !(await Promise.all(renewed)).includes(false);
  }

  /** Withdraws all entries. Those that cannot be withdrawn end with their leases. */
  async close(): Promise<void> {
    const all = [...this.#leases.values()];
    await Promise.allSettled(all.map(({ group, entry }) => this.withdraw(group, entry.id)));
    await Promise.allSettled(this.#last.values());
  }

  /** @param before its renewal in flight would bring back what is removed, so it ends first. */
  #next(key: string, before: Lease | undefined, call: () => Promise<void>): Promise<void> {
    before?.stop();
    const last = this.#last.get(key);
    const made = (async () => {
      await before?.ended;
      await last?.catch(() => {});
      await call();
    })();
    this.#last.set(key, made);
    const ended = () => {
      if (this.#last.get(key) === made) this.#last.delete(key);
    };
    made.then(ended, ended);
    return made;
  }
}
