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
