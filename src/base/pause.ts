// Work takes at most this part of the time, unless it takes longer than MAX_PACE.
const PACE = 10;
const MAX_PACE = 1000; // ms

/** Waits that wake() may end early. They let the process exit. */
export class Pause {
  #end: (() => void) | undefined;
  #isWoken = false;

  /** Ends the wait, or the next one if there is none. */
  wake(): void {
    this.#isWoken = true;
    this.#end?.();
  }

  async for(milliseconds: number): Promise<void> {
    if (!this.#isWoken) await this.#sleep(milliseconds);
    this.#isWoken = false;
  }

  /** Waits after work that has begun at `began`, of performance.now(), so that the work takes a small part of the time. */
  after(began: number): Promise<void> {
    return this.for(Math.min((performance.now() - began) * PACE, MAX_PACE));
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#end = undefined;
        resolve();
      };
      const timer = setTimeout(end, milliseconds).unref();
      this.#end = end;
    });
  }
}
