import { backPressure } from '../base/channels.js';
import type { Peer } from '../base/peer.js';
import { CompletionField, Entry, Event, Notified, Word } from '../contract/layout.js';
import type { Handle } from '../contract/native.js';
import type { BackPressure } from './back-pressure.js';
import { Completion, setClaim } from './completion.js';
import { type Failure, takeFailure } from './failure.js';

/** Receives the completions one by one: the engine. */
interface Reader {
  readonly handle: Handle<'Domain'>;
  readonly peers: ReadonlyMap<number, Peer>;
  /** A completion at u32 index `word` of the ring. */
  deliver(word: number): void;
}

/** The completion ring: the engine writes it, JavaScript reads it. */
export class Completions {
  readonly u32: Uint32Array;
  /** The number of completions read, modulo 2 ** 32. */
  head = 0;
  readonly #f64: Float64Array;
  readonly #u64: BigUint64Array;
  readonly #mask: number;
  readonly #control: Uint32Array;
  readonly #reader: Reader;
  readonly #threaded: boolean;
  readonly #backPressure: BackPressure;
  #reading = false;

  /** @param threaded whether the writer is another thread. */
  constructor(
    control: Uint32Array,
    ring: ArrayBuffer,
    reader: Reader,
    threaded: boolean,
    backPressure: BackPressure,
  ) {
    this.u32 = new Uint32Array(ring);
    this.#f64 = new Float64Array(ring);
    this.#u64 = new BigUint64Array(ring);
    this.#mask = ring.byteLength / Entry.Bytes - 1;
    this.#control = control;
    this.#reader = reader;
    this.#threaded = threaded;
    this.#backPressure = backPressure;
  }

  /** Delivers all available completions. Does nothing if a delivery calls it. */
  read(): void {
    if (this.#reading) return;
    this.#reading = true;
    // Only this thread makes the event loop poll.
    if (this.#control[Word.Notified] !== Notified.Polls) this.#store(Word.Notified, Notified.No);
    try {
      for (;;) {
        const tail = this.#load(Word.CompletionTail);
        if (this.head === tail) break;
        while (this.head !== tail) {
          const word = (this.head & this.#mask) * Entry.U32;
          this.head = (this.head + 1) >>> 0;
          this.#reader.deliver(word);
        }
        this.#store(Word.CompletionHead, this.head);
      }
    } finally {
      this.#reading = false;
    }
    if (backPressure.hasSubscribers) this.#backPressure.check();
  }

  // V8 does not inline Atomics. If the engine runs on this thread, a plain access saves about 20
  // ns.
  #load(word: Word): number {
    return this.#threaded ? Atomics.load(this.#control, word) : (this.#control[word] as number);
  }

  #store(word: Word, value: number): void {
    if (this.#threaded) Atomics.store(this.#control, word, value);
    else this.#control[word] = value;
  }

  /** The completion at `word`. */
  at(word: number): Completion {
    const wide = word >> 1;
    const flags = word + CompletionField.Flags64 * 2;
    return new Completion(
      this.#f64[wide + CompletionField.Length64] as number,
      this.sourceAt(word),
      this.#f64[wide + CompletionField.Offset64] as number,
      this.#read64(word, CompletionField.Tag64),
      this.#read64(word, CompletionField.Data64),
      this.u32[flags] as number,
      this.u32[flags + 1] as number,
    );
  }

  /** The completion at `word` of a peek that claimed a message. */
  claimAt(word: number): Completion {
    const completion = this.at(word);
    setClaim(completion, completion.offset);
    return completion;
  }

  // Returns a bigint only if a number would lose bits.
  #read64(word: number, field: CompletionField): bigint | number {
    const high = this.u32[word + field * 2 + 1] as number;
    if (high >= 0x20_0000) return this.#u64[(word >> 1) + field] as bigint;
    return high * 0x1_0000_0000 + (this.u32[word + field * 2] as number);
  }

  /** The failure of the completion at `word`. */
  failureAt(word: number): Failure {
    const errno = this.u32[word + CompletionField.Status32] as number;
    const key = this.u32[word + CompletionField.Error32] as number;
    return takeFailure(this.#reader.handle, this.#reader.peers, errno, key);
  }

  /** Whether the completion at `word` is the last of its operation. */
  finalAt(word: number): boolean {
    return this.u32[word + CompletionField.Event32] !== Event.Partial;
  }

  /** The sequence number of a message among all that have arrived, modulo 2 ** 32. */
  arrivalAt(word: number): number {
    return this.u32[word + CompletionField.Queue32] as number;
  }

  /** The length in bytes. */
  lengthAt(word: number): number {
    return this.#f64[(word >> 1) + CompletionField.Length64] as number;
  }

  /** The number of completed rounds of a batch. */
  roundsAt(word: number): number {
    return this.#f64[(word >> 1) + CompletionField.Offset64] as number;
  }

  /** The sender or writer, if it is known. */
  sourceAt(word: number): Peer | undefined {
    const source = this.u32[word + CompletionField.Source32] as number;
    return source === 0 ? undefined : this.#reader.peers.get(source);
  }

  /** Remote CQ data. */
  dataAt(word: number): bigint {
    return this.#u64[(word >> 1) + CompletionField.Data64] as bigint;
  }
}
