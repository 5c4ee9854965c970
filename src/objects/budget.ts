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
