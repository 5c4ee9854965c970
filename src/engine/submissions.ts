import { Entries } from './entries.js';
import { ENTRY_U32, Op, Word } from './layout.js';

/** The destination of operations: the ring of an engine, or a batch. */
export interface Sink {
  readonly entries: Entries;
  /** Reserves an entry with `blocks` additional entries after it. Returns its index. */
  reserve(blocks: number): number;
  /** Submits the entries written since reserve(). */
  commit(): void;
}

/** The submission ring: JavaScript writes it, the engine reads it. */
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
   * @param makeRoom lets the reader read. Its argument is the number of milliseconds without room.
   * It may throw.
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
    // V8 does not inline Atomics. If the reader runs on this thread, a plain access saves about 20
    // ns.
    if (this.#threaded) {
      Atomics.store(this.#control, Word.SubmissionTail, this.#tail);
      if (Atomics.load(this.#control, Word.Sleeping) !== 0) this.#wake();
    } else {
      this.#control[Word.SubmissionTail] = this.#tail;
      if (this.#control[Word.Sleeping] !== 0) this.#wake();
    }
  }

  // An operation and its blocks are contiguous, so this skips the rest of the ring.
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
