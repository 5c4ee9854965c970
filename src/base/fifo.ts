/** A queue of values. Unlike an array's shift(), take() does not move the other values. */
export class Fifo<T> {
  #values: (T | undefined)[] = [];
  #taken = 0;

  get length(): number {
    return this.#values.length - this.#taken;
  }

  add(value: T): void {
    this.#values.push(value);
  }

  /** The first value. Undefined if there is none. */
  get first(): T | undefined {
    return this.#values[this.#taken];
  }

  /** Removes the first value. Returns undefined if there is none. */
  take(): T | undefined {
    if (this.length === 0) return undefined;
    const value = this.#values[this.#taken];
    this.#values[this.#taken++] = undefined;
    if (2 * this.#taken > this.#values.length) {
      this.#values = this.#values.slice(this.#taken);
      this.#taken = 0;
    }
    return value;
  }

  /** Removes all values. */
  takeAll(): T[] {
    const values = this.#values.slice(this.#taken) as T[];
    this.#values = [];
    this.#taken = 0;
    return values;
  }
}
