import { Fifo } from '../base/fifo.js';

interface Waiting {
  readonly bytes: number;
  readonly resolve: () => void;
}

/** Bytes of memory that many share. Whoever finds too few waits, in order. */
export class Budget {
  readonly #all: number;
  #left: number;
  readonly #waiting = new Fifo<Waiting>();

  constructor(bytes: number) {
    this.#all = bytes;
    this.#left = bytes;
  }

  /** Takes bytes: at once, or when the promise resolves. Who wants more than there are gets all. */
  take(bytes: number): Promise<void> | undefined {
    const wanted = Math.min(bytes, this.#all);
    if (this.#waiting.length === 0 && wanted <= this.#left) {
      this.#left -= wanted;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.add({ bytes: wanted, resolve }));
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#left += Math.min(bytes, this.#all);
    for (let next = this.#waiting.first; next; next = this.#waiting.first) {
      if (next.bytes > this.#left) return;
      this.#waiting.take();
      this.#left -= next.bytes;
      next.resolve();
    }
  }
}

/** The memory of a call. */
export class Share {
  readonly #budgets: readonly Budget[];
  #bytes = 0;
  #held: Budget[] = [];

  constructor(budgets: readonly Budget[]) {
    this.#budgets = budgets;
  }

  /** Takes bytes from each budget: at once, or when the promise resolves. */
  take(bytes: number): Promise<void> | undefined {
    this.#bytes = bytes;
    for (const [i, budget] of this.#budgets.entries()) {
      const waiting = budget.take(bytes);
      this.#held.push(budget);
      if (waiting) return this.#takeFrom(i + 1, waiting);
    }
    return undefined;
  }

  async #takeFrom(next: number, waiting: Promise<void>): Promise<void> {
    await waiting;
    for (const budget of this.#budgets.slice(next)) {
      await budget.take(this.#bytes);
      this.#held.push(budget);
    }
  }

  give(): void {
    for (const budget of this.#held.splice(0)) budget.give(this.#bytes);
  }
}
