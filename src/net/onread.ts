import type { Duplex } from 'node:stream';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isUint8Array } from '../base/views.js';

/** As in node:net. */
export interface OnRead {
  /** The memory, or a function that returns it before each use. */
  readonly buffer: Uint8Array | (() => Uint8Array);
  /** Gets the number of bytes in the memory. After false, it is called again when the program calls resume(). */
  readonly callback: (length: number, buffer: Uint8Array) => boolean;
}

function checked(value: unknown): Uint8Array {
  if (!isUint8Array(value)) throw invalidArgType('options.onread.buffer', 'a Uint8Array', value);
  if (value.length > 0) return value;
  throw invalidArgValue('options.onread.buffer', 'has no bytes: it is empty, or was transferred');
}

/** Reads into the memory of a program, instead of into new memory each time. */
export class MemoryReader {
  isStopped = false;
  readonly #options: OnRead;
  readonly #socket: Duplex;
  /** Memory that was asked for, and has no bytes yet. */
  #memory: Uint8Array | undefined;
  #isReading = false;

  /** @param socket `this` of the callback. */
  constructor(options: OnRead, socket: Duplex) {
    this.#options = options;
    this.#socket = socket;
  }

  /**
   * Reads what has arrived. Returns whether the end has.
   *
   * @param take writes bytes into memory and returns their number, 0 if there are none, -1 at the end.
   */
  read(take: (into: Uint8Array) => number): boolean {
    if (this.#isReading) return false; // the callback has called resume()
    const { callback } = this.#options;
    this.#isReading = true;
    try {
      while (!this.isStopped) {
        const memory = this.#next();
        if (memory === undefined) return false;
        const length = take(memory);
        if (length <= 0) return length < 0;
        this.#memory = undefined;
        if (callback.call(this.#socket, length, memory) === false) this.isStopped = true;
      }
      return false;
    } finally {
      this.#isReading = false;
    }
  }

  // If there is no memory, the socket ends: otherwise it would ask for some for ever.
  #next(): Uint8Array | undefined {
    const { buffer } = this.#options;
    try {
      this.#memory ??= typeof buffer === 'function' ? buffer() : buffer;
      return checked(this.#memory);
    } catch (error) {
      this.isStopped = true;
      this.#socket.destroy(error as Error);
      return undefined;
    }
  }
}
