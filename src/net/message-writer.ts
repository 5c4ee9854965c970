import { bytesGone } from './socket-writer.js';

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

/** A header and bytes that write() has not accepted. */
interface Unsent {
  readonly header: Uint8Array;
  readonly bytes: Uint8Array;
  readonly length: number; // of the bytes, when they were sent
  from: number; // counts the header too
}

interface Waiting {
  /** The bytes of the call. Undefined if they were copied. */
  readonly unsent: Unsent | undefined;
  resolve(): void;
  reject(error: Error): void;
}

const NO_HEADER = new Uint8Array(0);

/** Writes records to a stream. Short ones travel together. */
export class MessageWriter {
  #write: ((bytes: Uint8Array, from: number) => number) | undefined;
  #stage = new Uint8Array(STAGE);
  #flushed = 0;
  #staged = 0; // the stage has records from #flushed on
  #isScheduled = false;
  readonly #unsent: Unsent[] = [];
  #waiting: Waiting[] = [];
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

  /** Adds a record. The promise resolves when it is certain to be sent, its bytes may be changed, and there is room for more. */
  add(kind: number, bytes: Uint8Array): Promise<void> {
    if (this.#error) return Promise.reject(this.#error);
    const unsent = bytes.length <= SMALL ? this.#addSmall(kind, bytes) : this.#addLong(kind, bytes);
    if (this.#unsent.length === 0 && this.#write) return DONE;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ unsent, resolve, reject });
    });
  }

  #addSmall(kind: number, bytes: Uint8Array): undefined {
    const { length } = bytes;
    if (this.#staged + HEADER + length > STAGE) this.#clearStage();
    const at = this.#staged;
    putHeader(this.#stage, at, kind, length);
    this.#stage.set(bytes, at + HEADER);
    this.#staged = at + HEADER + length;
    this.#schedule();
  }

  #addLong(kind: number, bytes: Uint8Array): Unsent {
    this.flush();
    const header = new Uint8Array(HEADER);
    putHeader(header, 0, kind, bytes.length);
    return this.#send(bytes, header);
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

  #send(bytes: Uint8Array, header = NO_HEADER): Unsent {
    const unsent = { header, bytes, length: bytes.length, from: 0 };
    if (this.#unsent.length > 0 || !this.#accepted(unsent)) this.#unsent.push(unsent);
    return unsent;
  }

  /** Offers what is left. Returns whether all was accepted. */
  #accepted(unsent: Unsent): boolean {
    const { header, bytes } = unsent;
    if (this.#write === undefined) return false;
    if (unsent.from < header.length) {
      unsent.from += this.#write(header, unsent.from);
      if (unsent.from < header.length) return false;
    }
    unsent.from += this.#write(bytes, unsent.from - header.length);
    return unsent.from === header.length + bytes.length;
  }

  /**
   * There is room again.
   *
   * @returns the error of a message whose bytes are gone after a part of it was sent. The caller ends the stream with it.
   */
  drain(): Error | undefined {
    const unsent = this.#unsent;
    while (unsent.length > 0 && this.#write) {
      const first = unsent[0] as Unsent;
      if (first.bytes.length !== first.length) {
        if (first.from > 0) return bytesGone();
        this.#refuse(first);
      } else if (!this.#accepted(first)) {
        return undefined;
      }
      unsent.shift();
    }
    for (const { resolve } of this.#waiting.splice(0)) resolve();
    return undefined;
  }

  // The other messages do not need its bytes.
  #refuse(unsent: Unsent): void {
    const at = this.#waiting.findIndex((each) => each.unsent === unsent);
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.reject(bytesGone());
  }

  /** Sends no more. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#staged = this.#flushed;
    this.#unsent.length = 0;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

function putHeader(into: Uint8Array, at: number, kind: number, length: number): void {
  into[at] = length;
  into[at + 1] = length >>> 8;
  into[at + 2] = length >>> 16;
  into[at + 3] = (length >>> 24) | (kind << (KIND_SHIFT - 24));
}
