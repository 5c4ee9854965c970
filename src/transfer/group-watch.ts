import { offAbort, onAbort } from '../base/abort-signals.js';
import type { Directory, DirectoryEntry } from '../base/directory.js';
import { DirectoryView } from '../base/directory-view.js';
import { Outage } from '../base/outage.js';
import { Pause } from '../base/pause.js';
import { TimeLimit } from '../base/time-limit.js';

const RETRY = 500; // ms

/**
 * Watches a group of any directory. If the directory's own watch ends or throws, watches again; entries that are missing then
 * stay for one lease more.
 */
export class GroupWatch {
  readonly #directory: Directory;
  readonly #name: string;
  readonly #ttl: number;
  readonly #changed: (entries: readonly DirectoryEntry[]) => void;
  readonly #view = new DirectoryView();
  #limit: TimeLimit | undefined;
  #last: readonly DirectoryEntry[] = [];

  constructor(
    directory: Directory,
    name: string,
    ttl: number,
    changed: (entries: readonly DirectoryEntry[]) => void,
  ) {
    this.#directory = directory;
    this.#name = name;
    this.#ttl = ttl;
    this.#changed = changed;
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const outage = new Outage(`watch ${this.#name}`);
    const pause = new Pause();
    signal.addEventListener('abort', () => pause.wake(), { once: true });
    while (!signal.aborted) {
      const attempt = new AbortController();
      const stop = () => attempt.abort(signal.reason);
      onAbort(signal, stop);
      try {
        for await (const entries of this.#directory.watch(this.#name, { signal: attempt.signal })) {
          if (signal.aborted) break;
          this.#update(entries);
          outage.isOver();
        }
      } catch (error) {
        if (!signal.aborted) outage.goesOn(error);
      } finally {
        offAbort(signal, stop);
      }
      this.#view.interrupted();
      if (!signal.aborted) await pause.for(RETRY);
    }
    this.#limit?.clear();
  }

  /** Adds what a lookup has found, which the watch may report later. */
  add(entries: readonly DirectoryEntry[]): void {
    const now = performance.now();
    this.#view.add(this.#leased(entries), now);
    this.#show(now);
  }

  #update(entries: readonly DirectoryEntry[]): void {
    this.#last = entries;
    const now = performance.now();
    this.#view.update(this.#leased(entries), now);
    this.#show(now);
  }

  #leased(entries: readonly DirectoryEntry[]) {
    return Array.from(entries, (entry) => ({ ...entry, ttl: this.#ttl }));
  }

  // With a later time, an entry that update() has just kept might have ended, and nothing would end it.
  #show(now: number): void {
    this.#limit?.clear();
    const left = this.#view.graceLeft(now);
    this.#limit = Number.isFinite(left)
      ? new TimeLimit(left, () => this.#update(this.#last)).unref()
      : undefined;
    this.#changed(this.#view.list());
  }
}
