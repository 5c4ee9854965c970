import type { DirectoryEntry } from '../base/directory.js';
import { DirectoryView } from '../base/directory-view.js';
import { Outage } from '../base/outage.js';
import { Pause } from '../base/pause.js';
import type { CheckedStore } from './checked-store.js';
import { TooLongError } from './records.js';

const RETRY = 500; // ms
// A list that is this much too late counts as an outage: the process or the service was stopped.
const LATE = 5000; // ms
// Lists take at most this part of the time. In a large group that starts, each change would ask for all entries.
const PACE = 10;
const MAX_PACE = 1000; // ms

/** Keeps a view of a group up to date until stop(). */
export class Watching {
  readonly #store: CheckedStore;
  readonly #group: string;
  readonly #interval: number;
  readonly #changed: (entries: readonly DirectoryEntry[]) => void;
  readonly #view = new DirectoryView();
  readonly #ending = new AbortController();
  readonly #pause = new Pause();
  readonly #pace = new Pause();
  readonly #again = new Pause();
  readonly #outage: Outage;
  #isFirst = true;
  #lastList = performance.now();

  /** @param interval the milliseconds between lists, besides those after reported changes. */
  constructor(
    store: CheckedStore,
    group: string,
    interval: number,
    changed: (entries: readonly DirectoryEntry[]) => void,
  ) {
    this.#store = store;
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
        if (this.#isStopped) return;
        this.#outage.isOver();
        this.#update(found, performance.now());
      } catch (error) {
        if (this.#isStopped) return;
        this.#outage.goesOn(error);
        this.#view.interrupted();
        await this.#pause.for(error instanceof TooLongError ? this.#interval : RETRY);
        continue;
      }
      const now = performance.now();
      await this.#pace.for(Math.min((now - began) * PACE, MAX_PACE));
      await this.#pause.for(Math.min(this.#interval, this.#view.graceLeft(now)));
    }
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
