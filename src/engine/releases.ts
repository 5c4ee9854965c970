import { endsWith } from '../base/ends.js';

/** The requests that may be aborted or time out, and the ends of those that did. */
export class Releases {
  readonly #promises = new Map<number, Promise<unknown>>();
  readonly #ends = new Map<number, { end: Promise<void>; tell: () => void }>();

  /** Registers a request that may be aborted or time out. */
  watch(request: number, promise: Promise<unknown>): void {
    this.#promises.set(request, promise);
  }

  /** Marks a request as aborted or timed out. The promise resolves when it has ended. */
  end(request: number): Promise<void> {
    let known = this.#ends.get(request);
    if (known === undefined) {
      let tell = () => {};
      const end = new Promise<void>((resolve) => {
        tell = resolve;
      });
      known = { end, tell };
      this.#ends.set(request, known);
      const promise = this.#promises.get(request);
      if (promise !== undefined) endsWith(promise, end);
    }
    return known.end;
  }

  get empty(): boolean {
    return this.#promises.size === 0 && this.#ends.size === 0;
  }

  /** Marks a request as ended. */
  forget(request: number): void {
    this.#promises.delete(request);
    this.#ends.get(request)?.tell();
    this.#ends.delete(request);
  }
}
