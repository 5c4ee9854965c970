import { readCounters, SCOPES, type ScopedCounters } from './counter-files.js';

/**
 * Counters of a device and a port that never decrease. Reloading the driver resets its counters to
 * 0; the totals here continue.
 */
export class CounterMeter {
  readonly #device: string;
  readonly #port: number;
  readonly #last = empty();
  readonly #totals = empty();

  /** `device` is its folder in sysfs. */
  constructor(device: string, port: number) {
    this.#device = device;
    this.#port = port;
  }

  read(): ScopedCounters {
    const now = readCounters(this.#device, this.#port);
    for (const scope of SCOPES) {
      const [last, totals] = [this.#last[scope], this.#totals[scope]];
      for (const [name, value] of Object.entries(now[scope])) {
        const before = last[name] ?? 0n;
        const grown = value < before ? value : value - before;
        totals[name] = (totals[name] ?? 0n) + grown;
        last[name] = value;
      }
    }
    return { device: { ...this.#totals.device }, port: { ...this.#totals.port } };
  }
}

const empty = (): ScopedCounters => ({ device: {}, port: {} });
