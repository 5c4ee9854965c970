import type { Admission } from './transfer.js';

export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Lets at most `most` transfers run. The others wait, in order of priority. */
export class Queue {
  readonly #most: number;
  readonly #waiting: Set<() => void>[] = PRIORITIES.map(() => new Set());
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.reduce((sum, { size }) => sum + size, 0);
  }

  at(priority: Priority): Admission {
    const queue = this.#waiting[PRIORITIES.indexOf(priority)] as Set<() => void>;
    return {
      enter: (start) => {
        if (this.#running < this.#most) {
          this.#running += 1;
          start();
          return () => {};
        }
        queue.add(start);
        return () => queue.delete(start);
      },
      leave: () => {
        this.#running -= 1;
        for (const each of this.#waiting) {
          const [next] = each;
          if (next === undefined) continue;
          each.delete(next);
          this.#running += 1;
          next();
          break;
        }
      },
    };
  }
}
