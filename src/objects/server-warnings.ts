// What a server tells its program of errors that are nobody's fault but its own. Strangers can cause any number of them.
const INTERVAL = 60_000; // ms between two warnings with the same text
const MAX_TEXTS = 100;

/** Emits each text at most once a minute, and at most 100 texts a minute. */
export class ServerWarnings {
  readonly #emitted = new Set<string>();
  #since = performance.now();

  /** A request has failed. */
  failed(error: unknown): void {
    this.#emit(`the object server has failed: ${(error as Error | undefined)?.stack ?? error}`);
  }

  /** The function `authorize` of the program has failed. */
  undecided(error: unknown): void {
    const [line = ''] = String(error).split('\n');
    this.#emit(`authorize() of the object server has thrown, and requests get 500: ${line}`);
  }

  #emit(text: string): void {
    const now = performance.now();
    if (now - this.#since > INTERVAL) {
      this.#emitted.clear();
      this.#since = now;
    }
    if (this.#emitted.has(text) || this.#emitted.size >= MAX_TEXTS) return;
    this.#emitted.add(text);
    process.emitWarning(text, 'LibfabricWarning');
  }
}
