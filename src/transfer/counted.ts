import { TimeLimit } from '../base/time-limit.js';

/** Counts events, and lets a caller wait for the n-th. */
export class Counted {
  #count = 0;
  #changed = () => {};

  /** An event has happened. */
  add(): void {
    this.#count += 1;
    this.#changed();
  }

  /** Whether `count` events have happened within `timeout` ms. For one caller at a time. */
  async reaches(count: number, timeout: number): Promise<boolean> {
    if (this.#count < count) {
      await new Promise<void>((resolve) => {
        const limit = new TimeLimit(timeout, resolve);
        this.#changed = () => {
          if (this.#count < count) return;
          limit.clear();
          resolve();
        };
      });
    }
    return this.#count >= count;
  }
}
