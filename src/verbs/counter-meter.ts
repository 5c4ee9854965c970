import { counterFolders, readCounters, SCOPES, type ScopedCounters } from './counter-files.js';

/**
 * Counters of a device and a port that never fall: what was counted stays when a driver is loaded
 * anew, which starts from 0, and when a process on softefa ends, which takes its counts along.
 */
export class CounterMeter {
  readonly #device: string;
  readonly #port: number;
  readonly #last = new Map<string, ScopedCounters>();
  readonly #totals = empty();

  /** `device` is its folder in sysfs. */
  constructor(device: string, port: number) {
    this.#device = device;
    this.#port = port;
  }

  read(): ScopedCounters {
    const folders = counterFolders(this.#device);
    for (const folder of folders) this.#add(folder, readCounters(folder, this.#port));
    for (const folder of this.#last.keys()) {
      if (!folders.includes(folder)) this.#last.delete(folder);
    }
    return { device: { ...this.#totals.device }, port: { ...this.#totals.port } };
  }

  #add(folder: string, now: ScopedCounters): void {
    const last = this.#last.get(folder) ?? empty();
    for (const scope of SCOPES) {
      for (const [name, value] of Object.entries(now[scope])) {
        const before = last[scope][name] ?? 0n;
        const grown = value < before ? value : value - before;
        this.#totals[scope][name] = (this.#totals[scope][name] ?? 0n) + grown;
        last[scope][name] = value;
      }
    }
    this.#last.set(folder, last);
  }
}

const empty = (): ScopedCounters => ({ device: {}, port: {} });
