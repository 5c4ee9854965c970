/** Warns once in each outage. */
export class Outage {
  readonly #what: string;
  #lasts = false;

  /** @param what completes "cannot ...": what the directory's user cannot do. */
  constructor(what: string) {
    this.#what = what;
  }

  goesOn(error: unknown): void {
    if (this.#lasts) return;
    this.#lasts = true;
    const why = error instanceof Error ? error.message : String(error);
    process.emitWarning(
      `cannot ${this.#what} at present, and tries again: ${why}`,
      'LibfabricWarning',
    );
  }

  isOver(): void {
    this.#lasts = false;
  }
}
