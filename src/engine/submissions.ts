import { Entries } from './entries.js';
import { ENTRY_U32, Op, Word } from './layout.js';

/** Where operations are written: the ring of an engine, or a batch. */
export interface Sink {
  readonly entries: Entries;
  /** The index of an entry with `blocks` further ones behind it. */
  reserve(blocks: number): number;
  /** What was written since reserve() is complete. */
  commit(): void;
}

/** The ring that JavaScript writes and the engine reads. */
export class Submissions implements Sink {
  readonly entries: Entries;
  readonly #control: Uint32Array;
  readonly #mask: number;
  readonly #makeRoom: (milliseconds: number) => void;
  readonly #wake: () => void;
  readonly #threaded: boolean;
  readonly #onFull: () => void;
  #tail = 0;
  #next = 0;
  #knownHead = 0;

  /**
   * @param makeRoom has the reader read; told how long there has been no room, it may throw.
   * @param threaded whether the reader is another thread.
   * @param onFull called when a caller must wait for room.
   */
  constructor(
    control: Uint32Array,
    ring: ArrayBuffer,
    makeRoom: (milliseconds: number) => void,
    wake: () => void,
    threaded: boolean,
    onFull: () => void,
  ) {
    this.#control = control;
    this.#onFull = onFull;
    this.#threaded = threaded;
    this.entries = new Entries(ring);
    this.#mask = this.entries.capacity - 1;
    this.#makeRoom = makeRoom;
    this.#wake = wake;
  }

  reserve(blocks: number): number {
    const size = 1 + blocks;
    const capacity = this.#mask + 1;
    let at = this.#tail & this.#mask;
    if (at + size > capacity) {
      this.#pad(capacity - at);
      at = 0;
    }
    if (((this.#tail + size - this.#knownHead) | 0) > capacity) this.#awaitRoom(size);
    this.#next = (this.#tail + size) | 0;
    return at;
  }

  commit(): void {
    this.#tail = this.#next;
    // V8 calls out for Atomics: about 20 ns that a reader on this thread need not cost.
    if (this.#threaded) {
      Atomics.store(this.#control, Word.SubmissionTail, this.#tail);
      if (Atomics.load(this.#control, Word.Sleeping) !== 0) this.#wake();
    } else {
      this.#control[Word.SubmissionTail] = this.#tail;
      if (this.#control[Word.Sleeping] !== 0) this.#wake();
    }
  }

  // An operation and its blocks are contiguous, so the rest of the ring is skipped.
  #pad(entries: number): void {
    if (((this.#tail + entries - this.#knownHead) | 0) > this.#mask + 1) this.#awaitRoom(entries);
    const at = this.#tail & this.#mask;
    this.entries.u32[at * ENTRY_U32] = Op.Nop | ((entries - 1) << 8);
    this.#next = (this.#tail + entries) | 0;
    this.commit();
  }

  #awaitRoom(entries: number): void {
    let start = 0;
    for (let tries = 0; ; tries++) {
      const before = this.#knownHead;
      this.#knownHead = Atomics.load(this.#control, Word.SubmissionHead) | 0;
      if (((this.#tail + entries - this.#knownHead) | 0) <= this.#mask + 1) return;
      if (tries === 0) this.#onFull();
      const now = performance.now();
      if (tries === 0 || this.#knownHead !== before) start = now;
      this.#makeRoom(now - start);
    }
  }
}
