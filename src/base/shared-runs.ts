import { Pause } from './pause.js';

/** Runs a call for many callers at once: each of them waits for a run that has begun after it asked. Runs take a small part of the
 * time. */
export class SharedRuns {
  readonly #call: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(call: () => Promise<void>) {
    this.#call = call;
  }

  /** Settles as its run does. */
  run(): Promise<void> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next;
  }

  #begin(): Promise<void> {
    const began = performance.now();
    const run = this.#call();
    const rest = () => new Pause().after(began);
    const running = run.then(rest, rest).then(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return run;
  }
}
