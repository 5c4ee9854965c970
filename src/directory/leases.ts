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
class Lease {
  readonly group: string;
  readonly entry: StoredEntry;
  /** Resolves when the entry is renewed no more. */
  ended: Promise<unknown> = Promise.resolve();
  readonly #pause = new Pause();
  readonly #outage: Outage;
  #isStopped = false;

  constructor(store: CheckedStore, group: string, entry: StoredEntry) {
    this.group = group;
    this.entry = entry;
    this.#outage = new Outage(`renew the entry ${entry.id} of ${group} in ${store.name}`);
  }

  stop(): void {
    this.#isStopped = true;
    this.#pause.wake();
  }

  /** Renews the entry in time. After a failure, more often, so that it is back soon after the service. */
  async renew(store: CheckedStore): Promise<void> {
    const interval = this.entry.ttl / RENEWALS;
    const timeout = Math.max(interval, MIN_TIMEOUT);
    for (let wait = interval; ; ) {
      await this.#pause.for(wait);
      if (this.#isStopped) return;
      try {
        await store.put(this.group, this.entry, timeout);
        this.#outage.isOver();
        wait = interval;
      } catch (error) {
        this.#outage.goesOn(error);
        wait = Math.min(interval, MAX_RETRY);
      }
    }
  }
}

/** The entries that this process has published. */
export class Leases {
  readonly #store: CheckedStore;
  readonly #leases = new Map<string, Lease>();

  constructor(store: CheckedStore) {
    this.#store = store;
  }

  async publish(group: string, entry: StoredEntry): Promise<void> {
    const key = `${group}/${entry.id}`;
    const lease = new Lease(this.#store, group, entry);
    const previous = this.#leases.get(key);
    this.#leases.set(key, lease);
    const published = this.#follow(previous, () => this.#store.put(group, entry));
    lease.ended = published.then(() => lease.renew(this.#store)).catch(() => {});
    try {
      await published;
    } catch (error) {
      if (this.#leases.get(key) === lease) this.#leases.delete(key);
      throw error;
    }
  }

  async withdraw(group: string, id: string): Promise<void> {
    const lease = this.#leases.get(`${group}/${id}`);
    if (lease === undefined) return;
    this.#leases.delete(`${group}/${id}`);
    await this.#follow(lease, () => this.#store.remove(group, id));
  }

  /** Withdraws all entries. Those that cannot be withdrawn end with their leases. */
  async close(): Promise<void> {
    const all = [...this.#leases.values()];
    await Promise.allSettled(all.map(({ group, entry }) => this.withdraw(group, entry.id)));
  }

  // A renewal in flight would bring back what was removed, so the lease before ends first.
  async #follow(before: Lease | undefined, call: () => Promise<void>): Promise<void> {
    before?.stop();
    await before?.ended;
    await call();
  }
}
