import { markAsUntransferable } from 'node:worker_threads';
import { connectionError } from './errors.js';
import { HEADER, Kind, LONGEST } from './message-writer.js';

const LANDING = 256 * 1024;

/** Memory whose bytes the program may borrow, and not transfer. */
function landing(length: number): Uint8Array {
  const memory = new Uint8Array(length);
  markAsUntransferable(memory.buffer);
  return memory;
}
/** The maximum length of a record that is no message. The address of an engine and an offer have some 100 bytes. */
const LONGEST_OF_PROTOCOL = 1024 * 1024;

/** A record of a stream of messages. Its bytes are valid until the next one is read. */
export interface Received {
  readonly kind: number;
  readonly bytes: Uint8Array;
}

/** Reads records from a stream. */
export class MessageReader {
  readonly #take: (into: Uint8Array, from: number) => number;
  readonly #longest: number;
  #landing = landing(LANDING);
  #begin = 0;
  #end = 0;

  /**
   * @param take writes bytes into memory from an offset on, and returns how many, -1 at the end.
   * @param longest the maximum length of a message in bytes.
   */
  constructor(take: (into: Uint8Array, from: number) => number, longest: number) {
    this.#take = take;
    this.#longest = longest;
  }

  /**
   * The next record, null at the end, undefined if it has not arrived.
   *
   * @throws Error EMSGSIZE if it is too long, ECONNRESET if the stream ends within it, ERR_INVALID_STATE if the program has
   * transferred memory that it has borrowed.
   */
  next(): Received | null | undefined {
    if (this.#landing.length === 0) this.#replaceLanding();
    for (;;) {
      const available = this.#end - this.#begin;
      let needed = HEADER;
      if (available >= HEADER) {
        const header = this.#header();
        const length = header & LONGEST;
        if (length > (header >>> 30 === Kind.Message ? this.#longest : LONGEST_OF_PROTOCOL))
          throw connectionError('EMSGSIZE', `a message has ${length} bytes`, 'read');
        needed = HEADER + length;
        if (available >= needed) return this.#record(header >>> 30, length);
      }
      this.#makeRoom(needed);
      const taken = this.#take(this.#landing, this.#end);
      if (taken === 0) return undefined;
      if (taken < 0) {
        if (available === 0) return null;
        throw connectionError('ECONNRESET', 'the peer has ended within a message', 'read');
      }
      this.#end += taken;
    }
  }

  /** Whether no byte has been taken that belongs to a later record. */
  get isEmpty(): boolean {
    return this.#begin === this.#end;
  }

  #header(): number {
    const bytes = this.#landing;
    const at = this.#begin;
    return (
      ((bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24)) >>>
      0
    );
  }

  #record(kind: number, length: number): Received {
    const from = this.#begin + HEADER;
    this.#begin = from + length;
    return { kind, bytes: this.#landing.subarray(from, from + length) };
  }

  // The program has transferred the memory of a message that it has borrowed.
  #replaceLanding(): void {
    if (!this.isEmpty)
      throw connectionError(
        'ERR_INVALID_STATE',
        'the memory of a borrowed message was transferred',
      );
    this.#landing = landing(LANDING);
    this.#begin = this.#end = 0;
  }

  // Moves what is left to the beginning, for `needed` bytes in one piece.
  #makeRoom(needed: number): void {
    const rest = this.#end - this.#begin;
    const previous = this.#landing;
    if (needed > previous.length) this.#landing = landing(needed);
    else if (rest === 0 && previous.length > LANDING) this.#landing = landing(LANDING);
    else if (rest > 0 && this.#begin + needed <= previous.length && this.#end < previous.length)
      return;
    this.#landing.set(previous.subarray(this.#begin, this.#end));
    this.#begin = 0;
    this.#end = rest;
  }
}
