import type { DirectoryEntry } from '../base/directory.js';
import { DirectoryView } from '../base/directory-view.js';
import { Outage } from '../base/outage.js';
import { Pause } from '../base/pause.js';
import type { CheckedStore } from './checked-store.js';
import type { Lease, Leases } from './leases.js';
import { TooLongError } from './records.js';

const RETRY = 500; // ms
// A list that is this much too late counts as an outage: the process or the service was stopped.
const LATE = 5000; // ms

/** Keeps a view of a group up to date until stop(). */
export class Watching {
  readonly #store: CheckedStore;
  readonly #leases: Leases;
  readonly #group: string;
  readonly #interval: number;
  readonly #changed: (entries: readonly DirectoryEntry[]) => void;
  readonly #view = new DirectoryView();
  readonly #ending = new AbortController();
  readonly #pause = new Pause();
  readonly #pace = new Pause();
  readonly #again = new Pause();
  readonly #outage: Outage;
  // The leases of this process whose entries the last list had.
  #listed: readonly Lease[] = [];
  #isFirst = true;
  #lastList = performance.now();

  /** @param interval the milliseconds between lists, besides those after reported changes. */
  constructor(
    store: CheckedStore,
    leases: Leases,
    group: string,
    interval: number,
    changed: (entries: readonly DirectoryEntry[]) => void,
  ) {
    this.#store = store;
    this.#leases = leases;
    this.#group = group;
    this.#interval = interval;
    this.#changed = changed;
    this.#outage = new Outage(`watch ${group} in ${store.name}`);
    void this.#list();
    void this.#follow();
  }

  stop(): void {
    this.#ending.abort();
    this.#pace.wake();
    this.#pause.wake();
    this.#again.wake();
  }

  get #isStopped(): boolean {
    return this.#ending.signal.aborted;
  }

  async #list(): Promise<void> {
    while (!this.#isStopped) {
      const began = performance.now();
      try {
        const found = await this.#store.list(this.#group);
        const isBelieved = await this.#isBelieved(found);
        if (this.#isStopped) return;
        this.#outage.isOver();
        if (!isBelieved) this.#view.interrupted();
        this.#update(found, performance.now());
      } catch (error) {
        if (this.#isStopped) return;
        this.#outage.goesOn(error);
        this.#view.interrupted();
        await this.#pause.for(error instanceof TooLongError ? this.#interval : RETRY);
        continue;
      }
      const now = performance.now();
      // In a large group that starts, each change would ask for all entries.
      await this.#pace.after(began);
      await this.#pause.for(Math.min(this.#interval, this.#view.graceLeft(now)));
    }
  }

  /**
   * Whether entries that are missing have ended. Others may be unable to renew their entries, as this process is, if the
   * service can be read and not be written; and a service that has lost an entry of this process has lost others too.
   */
  async #isBelieved(found: Awaited<ReturnType<CheckedStore['list']>>): Promise<boolean> {
    const own = this.#leases.of(this.#group);
    const ids = new Set(found.map(({ id }) => id));
    const lost = this.#listed.filter(({ entry: { id } }) => !ids.has(id));
    const isLost = lost.some((lease) => own.get(lease.entry.id) === lease);
    this.#listed = [...own.values()].filter(({ entry }) => ids.has(entry.id));
    if (isLost) for (const lease of lost) void lease.renewNow();
    const missing = this.#view.missing(ids);
    if (isLost || missing.length === 0) return !isLost;
    return this.#leases.areRenewed(Math.min(...missing.map(({ ttl }) => ttl)));
  }

  #update(found: Awaited<ReturnType<CheckedStore['list']>>, now: number): void {
    if (now - this.#lastList > this.#interval + LATE) this.#view.interrupted();
    this.#lastList = now;
    const hasChanged = this.#view.update(found, now);
    if (hasChanged || this.#isFirst) this.#changed(this.#view.list());
    this.#isFirst = false;
  }

  async #follow(): Promise<void> {
    const { follow } = this.#store;
    if (follow === undefined) return;
    const { signal } = this.#ending;
    while (!this.#isStopped) {
      await follow(this.#group, () => this.#pause.wake(), signal).catch(() => {});
      if (this.#isStopped) return;
      this.#view.interrupted();
      await this.#again.for(RETRY);
    }
  }
}
