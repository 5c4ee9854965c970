/** What has arrived and waits to be taken, or the takers that wait: the core of an async iterator. */
export class Arrivals<T> {
  #items: ({ value: T } | { error: unknown })[] = [];
  #takers: {
    resolve: (result: IteratorResult<T>) => void;
    reject: (reason: unknown) => void;
  }[] = [];
  #ended = false;

  push(value: T): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#items.push({ value });
    else taker.resolve({ value, done: false });
  }

  fail(error: unknown): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#items.push({ error });
    else taker.reject(error);
  }

  end(): void {
    this.#ended = true;
    for (const taker of this.#takers.splice(0)) taker.resolve({ value: undefined, done: true });
  }

  take(): Promise<IteratorResult<T>> {
    const item = this.#items.shift();
    if (item === undefined) {
      if (this.#ended) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => this.#takers.push({ resolve, reject }));
    }
    if ('error' in item) return Promise.reject(item.error);
    return Promise.resolve({ value: item.value, done: false });
  }
}
