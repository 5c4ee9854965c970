import type { Admission } from './transfer.js';

export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

type Start = () => void;

/** The transfers that wait with one priority, in order. */
class Line {
  readonly #starts = new Set<Start>();
  // This iterator stays at the first entry. A new iterator would pass over all entries that were taken since the Set
  // was last resized.
  #first = this.#starts.values();

  get length(): number {
    return this.#starts.size;
  }

  add(start: Start): void {
    this.#starts.add(start);
  }

  remove(start: Start): void {
    this.#starts.delete(start);
  }

  take(): Start | undefined {
    if (this.#starts.size === 0) return undefined;
    let next = this.#first.next();
    if (next.done) {
      this.#first = this.#starts.values();
      next = this.#first.next();
    }
    this.#starts.delete(next.value as Start);
    return next.value;
  }
}

/** Lets at most `most` transfers run. The others wait, in order of priority. */
export class Queue {
  readonly #most: number;
  readonly #lines = PRIORITIES.map(() => new Line());
  #running = 0;
  #isStarting = false;

  constructor(most: number) {
    this.#most = most;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#lines.reduce((sum, { length }) => sum + length, 0);
  }

  at(priority: Priority): Admission {
    const line = this.#lines[PRIORITIES.indexOf(priority)] as Line;
    return {
      enter: (start) => {
        if (this.#running < this.#most) {
          this.#running += 1;
          start();
          return () => {};
        }
        line.add(start);
        return () => line.remove(start);
      },
      leave: () => {
        this.#running -= 1;
        this.#startWaiting();
      },
    };
  }

  // A transfer that cannot start leaves at once, and thousands may wait. So leave() within a start() starts nothing.
  #startWaiting(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    try {
      for (let start = this.#next(); start !== undefined; start = this.#next()) {
        this.#running += 1;
        start();
      }
    } finally {
      this.#isStarting = false;
    }
  }

  #next(): Start | undefined {
    if (this.#running >= this.#most) return undefined;
    for (const line of this.#lines) {
      const start = line.take();
      if (start !== undefined) return start;
    }
    return undefined;
  }
}
