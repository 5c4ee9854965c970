interface Waiting {
  readonly bytes: number;
  readonly resolve: () => void;
}

/** Bytes of memory that many share. Whoever finds too few waits, in order. */
export class Budget {
  readonly #all: number;
  #left: number;
  readonly #waiting = new Map<Promise<void>, Waiting>();

  constructor(bytes: number) {
    this.#all = bytes;
    this.#left = bytes;
  }

  /** Takes bytes: at once, or when the promise resolves. Who wants more than there are gets all. */
  take(bytes: number): Promise<void> | undefined {
    const wanted = Math.min(bytes, this.#all);
    if (this.#waiting.size === 0 && wanted <= this.#left) {
      this.#left -= wanted;
      return undefined;
    }
    let resolve = () => {};
    const waiting = new Promise<void>((given) => {
      resolve = given;
    });
    this.#waiting.set(waiting, { bytes: wanted, resolve });
    return waiting;
  }

  /** Waits no more. Returns false if the bytes were taken meanwhile. */
  cancel(waiting: Promise<void>): boolean {
    const isWaiting = this.#waiting.delete(waiting);
    if (isWaiting) this.#serve(); // those behind it may want fewer
    return isWaiting;
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#left += Math.min(bytes, this.#all);
    this.#serve();
  }

  #serve(): void {
    for (const [waiting, { bytes, resolve }] of this.#waiting) {
      if (bytes > this.#left) return;
      this.#waiting.delete(waiting);
      this.#left -= bytes;
      resolve();
    }
  }
}

/** Runs work while it holds one of a number of places. */
export async function inPlaceOf<T>(places: Budget, work: () => Promise<T>): Promise<T> {
  await places.take(1);
  try {
    return await work();
  } finally {
    places.give(1);
  }
}

/** Memory for one call of a channel at a time, which no other channel can take. */
export class Reserve {
  readonly #size: number;
  #isTaken = false;
  readonly #waiting = new Set<() => void>();

  /** @param size the most bytes of such a call. */
  constructor(size: number) {
    this.#size = size;
  }

  take(bytes: number): boolean {
    if (this.#isTaken || bytes > this.#size) return false;
    this.#isTaken = true;
    return true;
  }

  /** Calls `taken` when a call has it. Returns what ends that. */
  wait(bytes: number, taken: () => void): () => void {
    if (bytes <= this.#size) this.#waiting.add(taken);
    return () => void this.#waiting.delete(taken);
  }

  give(): void {
    const [next] = this.#waiting;
    this.#isTaken = next !== undefined;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }
}

/** The memory of a call: the reserve, or bytes of each budget. */
export class Share {
  readonly #reserve: Reserve;
  readonly #budgets: readonly Budget[];
  #bytes = 0;
  #held: Budget[] = [];
  #isReserved = false;

  constructor(reserve: Reserve, budgets: readonly Budget[]) {
    this.#reserve = reserve;
    this.#budgets = budgets;
  }

  /** Takes bytes: at once, or when the promise resolves. */
  take(bytes: number): Promise<void> | undefined {
    this.#bytes = bytes;
    this.#isReserved = this.#reserve.take(bytes);
    if (this.#isReserved) return undefined;
    const waiting = this.#takeNext();
    return waiting && this.#wait(waiting);
  }

  /** Takes from the budgets of which it has nothing. Returns what it waits for. */
  #takeNext(): Promise<void> | undefined {
    for (const budget of this.#budgets.slice(this.#held.length)) {
      const waiting = budget.take(this.#bytes);
      this.#held.push(budget);
      if (waiting) return waiting;
    }
    return undefined;
  }

  async #wait(first: Promise<void>): Promise<void> {
    let waiting: Promise<void> | undefined = first;
    let forget = () => {};
    const reserved = new Promise<void>((resolve) => {
      forget = this.#reserve.wait(this.#bytes, () => {
        const last = this.#held.at(-1);
        if (waiting && last?.cancel(waiting)) this.#held.pop();
        this.#giveHeld();
        this.#isReserved = true;
        resolve();
      });
    });
    while (waiting && !this.#isReserved) {
      await Promise.race([waiting, reserved]);
      if (!this.#isReserved) waiting = this.#takeNext();
    }
    forget();
  }

  #giveHeld(): void {
    for (const budget of this.#held.splice(0)) budget.give(this.#bytes);
  }

  give(): void {
    this.#giveHeld();
    if (!this.#isReserved) return;
    this.#isReserved = false;
    this.#reserve.give();
  }
}
