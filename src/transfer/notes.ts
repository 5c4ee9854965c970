import type { RemoteEngine } from './remote-engine.js';

/** A message from another engine. */
export interface Note {
  readonly bytes: Uint8Array;
  /** The sender, if this engine knows it: engine.peer(). */
  readonly from: RemoteEngine | undefined;
  /** The identity of the sender's engine. */
  readonly id: string;
}

// The sequence numbers that a late copy may still have.
const WINDOW = 4096;
const MAX_WAITING = 65_536;
// Of senders, whose identities nobody vouches for.
const MAX_SENDERS = 65_536;

/** Lets each message pass once: a message is sent again if its rail fails. */
class Once {
  #highest = 0;
  readonly #seen = new Set<number>();

  isNew(sequence: number): boolean {
    if (sequence <= this.#highest - WINDOW || this.#seen.has(sequence)) return false;
    this.#seen.add(sequence);
    if (sequence > this.#highest) {
      // Bounded by the window: the peer chooses the numbers.
      const last = Math.min(this.#highest, sequence - WINDOW);
      for (let old = this.#highest - WINDOW; old <= last; old++) this.#seen.delete(old);
      this.#highest = sequence;
    }
    return true;
  }
}

/** Lets each message of each peer pass once. */
export class OncePerPeer {
  readonly #peers = new Map<bigint, Once>();

  isNew(from: bigint, sequence: number): boolean {
    let once = this.#peers.get(from);
    if (once === undefined) {
      once = new Once();
      this.#peers.set(from, once);
      if (this.#peers.size > MAX_SENDERS) this.#forgetOldest();
    }
    return once.isNew(sequence);
  }

  #forgetOldest(): void {
    const [oldest] = this.#peers.keys();
    if (oldest !== undefined) this.#peers.delete(oldest);
  }
}

/** The messages that arrive at an engine, for `for await`. */
export class Notes {
  readonly #waiting: Note[] = [];
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

  arrived(note: Note): void {
    this.#received += 1;
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      reader({ value: note, done: false });
      this.#waits(-1);
    } else if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push(note);
    } else {
      this.#drop();
    }
  }

  #drop(): void {
    this.#dropped += 1;
    if (this.#dropped > 1) return;
    process.emitWarning(
      `a transfer engine drops messages: ${MAX_WAITING} wait, and nobody reads engine.notes()`,
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
        const note = this.#waiting.shift();
        if (note !== undefined) return Promise.resolve({ value: note, done: false });
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
