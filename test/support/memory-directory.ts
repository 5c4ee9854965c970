import type { Directory, DirectoryEntry } from 'libfabric/directory';

/** A directory of this process, as a program might write one. The test decides what it has and when it fails. */
export class MemoryDirectory implements Directory {
  readonly entries = new Map<string, DirectoryEntry>();
  readonly withdrawn: string[] = [];
  #failure: Error | undefined;
  #wake = new Set<() => void>();

  set(entry: DirectoryEntry): void {
    this.entries.set(entry.id, entry);
    this.#changed();
  }

  delete(id: string): void {
    this.entries.delete(id);
    this.#changed();
  }

  /** Lets watches throw, and all calls reject. Undefined: no longer. */
  fail(error: Error | undefined): void {
    this.#failure = error;
    this.#changed();
  }

  #changed(): void {
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }

  get watched(): boolean {
    return this.#wake.size > 0;
  }

  async publish(_group: string, entry: DirectoryEntry): Promise<void> {
    if (this.#failure) throw this.#failure;
    this.set(entry);
  }

  async withdraw(_group: string, id: string): Promise<void> {
    this.withdrawn.push(id);
    if (this.#failure) throw this.#failure;
    this.delete(id);
  }

  async lookup(): Promise<readonly DirectoryEntry[]> {
    return [...this.entries.values()];
  }

  async *watch(_group: string, { signal }: { signal?: AbortSignal } = {}) {
    signal?.addEventListener('abort', () => this.#changed());
    for (;;) {
      signal?.throwIfAborted();
      if (this.#failure) throw this.#failure;
      const change = new Promise<void>((resolve) => this.#wake.add(resolve));
      yield [...this.entries.values()];
      await change;
    }
  }
}
