import { Entry, Op, Word } from '../contract/layout.js';
import { Entries } from './entries.js';

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
    if (at + size > capacity || !this.#hasRoom(size)) at = this.#makeReady(size);
    this.#next = (this.#tail + size) | 0;
    return at;
  }

  #hasRoom(entries: number): boolean {
    return ((this.#tail + entries - this.#knownHead) | 0) <= this.#mask + 1;
  }

  // V8 does not inline Atomics. If the reader runs on this thread, a plain access saves about 20 ns.
  commit(): void {
    this.#tail = this.#next;
    if (this.#threaded) {
      this.#commitToThread();
      return;
    }
    const control = this.#control;
    control[Word.SubmissionTail] = this.#tail;
    if (control[Word.Sleeping] !== 0) this.#wake();
  }

  #commitToThread(): void {
    Atomics.store(this.#control, Word.SubmissionTail, this.#tail);
    if (Atomics.load(this.#control, Word.Sleeping) !== 0) this.#wake();
  }

  // Makes room for an operation, and returns its index. While this waits, a subscriber of the
  // channel of back-pressure may submit operations. So each wait is followed by another look at the
  // ring.
  #makeReady(size: number): number {
    for (;;) {
      const at = this.#tail & this.#mask;
      const rest = this.#mask + 1 - at;
      const entries = Math.min(size, rest);
      if (!this.#hasRoom(entries)) this.#awaitRoom(entries);
      else if (size > rest) this.#pad(at, rest);
      else return at;
    }
  }

  // An operation and its blocks are contiguous, so this skips the rest of the ring.
  #pad(at: number, entries: number): void {
    this.entries.u32[at * Entry.U32] = Op.Nop | ((entries - 1) << 8);
    this.#next = (this.#tail + entries) | 0;
    this.commit();
  }

  #awaitRoom(entries: number): void {
    let start = 0;
    for (let tries = 0; ; tries++) {
      const before = this.#knownHead;
      this.#knownHead = Atomics.load(this.#control, Word.SubmissionHead) | 0;
      if (this.#hasRoom(entries)) return;
      if (tries === 0) this.#onFull();
      const now = performance.now();
      if (tries === 0 || this.#knownHead !== before) start = now;
      this.#makeRoom(now - start);
    }
  }
}
