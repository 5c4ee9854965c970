import { Fifo } from '../fifo.js';
import type { RemoteEngine } from './remote-engine.js';

/** A message from another engine. */
export interface Note {
  readonly bytes: Uint8Array;
  /** The sender, if this engine knows it: engine.peer(). */
  readonly from: RemoteEngine | undefined;
  /** The identity of the sender's engine. */
  readonly id: string;
}

/** The messages that arrive at an engine, for `for await`. */
export class Notes {
  readonly #waiting = new Fifo<{ note: Note; wasRead: () => void }>();
  readonly #readers: ((result: IteratorResult<Note>) => void)[] = [];
  readonly #waits: (change: number) => void;
  #closed = false;
  #received = 0;
  #dropped = 0;

  /** @param waits hears that a reader begins (1) or ends (-1) to wait. */
  constructor(waits: (change: number) => void) {
    this.#waits = waits;
  }

  get received(): number {
    return this.#received;
  }

  get unread(): number {
    return this.#waiting.length;
  }

  /** Messages that were dropped because nobody read them. */
  get dropped(): number {
    return this.#dropped;
  }

  arrived(note: Note, wasRead: () => void): void {
    this.#received += 1;
    const reader = this.#readers.shift();
    if (reader === undefined) {
      this.#waiting.add({ note, wasRead });
    } else {
      reader({ value: note, done: false });
      this.#waits(-1);
      wasRead();
    }
  }

  /** A message is dropped, because so many wait. */
  drop(waiting: number): void {
    this.#received += 1;
    this.#dropped += 1;
    if (this.#dropped > 1) return;
    process.emitWarning(
      `a transfer engine drops messages: ${waiting} wait, and nobody reads engine.notes()`,
      'LibfabricWarning',
    );
  }

  close(): void {
    this.#closed = true;
    for (const reader of this.#readers.splice(0)) {
      this.#waits(-1);
      reader({ value: undefined, done: true });
    }
  }

  read(): AsyncIterableIterator<Note> {
    const iterator: AsyncIterableIterator<Note> = {
      next: () => {
        const first = this.#waiting.take();
        first?.wasRead();
        if (first !== undefined) return Promise.resolve({ value: first.note, done: false });
        if (this.#closed) return Promise.resolve({ value: undefined, done: true });
        this.#waits(1);
        return new Promise((resolve) => this.#readers.push(resolve));
      },
      return: () => Promise.resolve({ value: undefined, done: true }),
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }
}
