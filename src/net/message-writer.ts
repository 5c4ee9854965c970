/** The kinds of records in a stream of messages. */
export const Kind = { Message: 0, Engine: 1, Offer: 2 } as const;

/** Each record has its length and its kind before it. */
export const HEADER = 4; // bytes
const KIND_SHIFT = 30;
/** The most bytes of a message. */
export const LONGEST = 2 ** KIND_SHIFT - 1;

const STAGE = 32 * 1024;
/** Longer messages are not copied before write() has accepted them. */
const SMALL = 8 * 1024;

const DONE = Promise.resolve();

/** Bytes that write() has not accepted. */
interface Unsent {
  readonly bytes: Uint8Array;
  from: number;
}

/** Writes records to a stream. Short ones travel together. */
export class MessageWriter {
  #write: ((bytes: Uint8Array, from: number) => number) | undefined;
  #stage = new Uint8Array(STAGE);
  #flushed = 0;
  #staged = 0; // the stage has records from #flushed on
  #isScheduled = false;
  readonly #unsent: Unsent[] = [];
  #waiting: { resolve(): void; reject(error: Error): void }[] = [];
  #error: Error | undefined;

  /** Begins to send. @param write accepts bytes from an offset on, and returns how many. */
  open(write: (bytes: Uint8Array, from: number) => number): void {
    this.#write = write;
    this.flush();
  }

  /** Whether everything was accepted. */
  get isEmpty(): boolean {
    return this.#staged === this.#flushed && this.#unsent.length === 0;
  }

  /** Adds a record. The promise resolves when its bytes may be changed, and there is room for more. */
  add(kind: number, bytes: Uint8Array): Promise<void> {
    if (this.#error) return Promise.reject(this.#error);
    const { length } = bytes;
    const isSmall = length <= SMALL;
    if (this.#staged + HEADER + (isSmall ? length : 0) > STAGE) this.#clearStage();
    const at = this.#staged;
    const stage = this.#stage;
    stage[at] = length;
    stage[at + 1] = length >>> 8;
    stage[at + 2] = length >>> 16;
    stage[at + 3] = (length >>> 24) | (kind << (KIND_SHIFT - 24));
    this.#staged = at + HEADER;
    if (isSmall) {
      stage.set(bytes, at + HEADER);
      this.#staged += length;
      this.#schedule();
    } else {
      this.flush();
      this.#send(bytes);
    }
    if (this.#unsent.length === 0) return DONE;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  // What is written in one turn of the event loop travels together.
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(this.#flushScheduled);
  }

  readonly #flushScheduled = (): void => {
    this.#isScheduled = false;
    this.flush();
  };

  flush(): void {
    const staged = this.#staged;
    if (staged === this.#flushed) return;
    this.#send(this.#stage.subarray(this.#flushed, staged));
    this.#flushed = this.#unsent.length > 0 ? staged : 0;
    this.#staged = this.#flushed;
  }

  #clearStage(): void {
    this.flush();
    if (this.#unsent.length > 0) this.#stage = new Uint8Array(STAGE);
    this.#flushed = this.#staged = 0;
  }

  #send(bytes: Uint8Array): void {
    const from = this.#unsent.length === 0 && this.#write ? this.#write(bytes, 0) : 0;
    if (from < bytes.length) this.#unsent.push({ bytes, from });
  }

  /** There is room again. */
  drain(): void {
    const unsent = this.#unsent;
    while (unsent.length > 0 && this.#write) {
      const first = unsent[0] as Unsent;
      first.from += this.#write(first.bytes, first.from);
      if (first.from < first.bytes.length) return;
      unsent.shift();
    }
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  /** Sends no more. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#staged = this.#flushed;
    this.#unsent.length = 0;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
