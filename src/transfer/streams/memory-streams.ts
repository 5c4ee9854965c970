// Streams of Node.js over local memory.

import { Readable, Writable } from 'node:stream';
import { inThisContext } from '../../base/async-context.js';
import { outOfRange } from '../../base/errors.js';
import { type Pieces, slicePieces } from '../pieces.js';

// Bytes of a part of a stream.
const PART = 256 * 1024;

/** The memory of a stream. */
export interface StreamedMemory {
  /** The bytes of the whole memory. */
  readonly bytes: Uint8Array;
  /** The parts of it that are streamed, in their order. */
  readonly pieces: Pieces;
  /** Bytes of these. */
  readonly length: number;
}

/** Views of the bytes [start, end) of the pieces. */
function* viewsOf({ bytes, pieces }: StreamedMemory, start: number, end: number): Iterable<Buffer> {
  const range = slicePieces(pieces, start, end);
  for (let i = 0; i < range.length; i += 2) {
    const offset = bytes.byteOffset + (range[i] as number);
    yield Buffer.from(bytes.buffer, offset, range[i + 1] as number);
  }
}

/** Bytes of memory that become valid from the beginning to the end. */
export interface Arriving {
  readonly memory: StreamedMemory;
  /** The bytes at the beginning that are valid. */
  leading(): number;
  /** Calls `moved` when there may be more of them. Returns a function that ends this. */
  watch(moved: () => void): () => void;
  /** Resolves when all bytes are valid. */
  readonly arrived: Promise<unknown>;
}

/** The bytes of memory, as soon as they are valid. Its parts are views of the memory. */
export class ArrivingReadable extends Readable {
  readonly #arriving: Arriving;
  readonly #leave: () => void;
  #at = 0;
  #isAsked = false;
  #isComplete = false;

  constructor(arriving: Arriving) {
    super({ highWaterMark: PART });
    this.#arriving = arriving;
    this.#leave = arriving.watch(inThisContext(() => this.#push()));
    arriving.arrived.then(
      () => {
        this.#isComplete = true;
        this.#push();
      },
      (error) => this.destroy(error),
    );
  }

  override _read(): void {
    this.#isAsked = true;
    this.#push();
  }

  #push(): void {
    const { memory } = this.#arriving;
    while (this.#isAsked && !this.destroyed) {
      if (this.#at === memory.length) {
        this.#isAsked = false;
        this.push(null);
        return;
      }
      // After the end, the native transfer may be that of a repetition.
      const leading = this.#isComplete ? memory.length : this.#arriving.leading();
      const end = Math.min(leading, this.#at + PART);
      if (end === this.#at) return;
      const start = this.#at;
      this.#at = end;
      for (const view of viewsOf(memory, start, end)) this.#isAsked = this.push(view);
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#leave();
    callback(error);
  }
}

/** The bytes of memory. Its parts are views of the memory. */
export function readableOf(memory: StreamedMemory): Readable {
  const parts = function* () {
    for (let at = 0; at < memory.length; at += PART)
      yield* viewsOf(memory, at, Math.min(at + PART, memory.length));
  };
  return Readable.from(parts(), { objectMode: false, highWaterMark: PART });
}

/** Copies bytes into memory, from its beginning. */
class MemoryWritable extends Writable {
  readonly #memory: StreamedMemory;
  #at = 0;

  constructor(memory: StreamedMemory) {
    super();
    this.#memory = memory;
  }

  override _write(bytes: Buffer, _encoding: string, callback: (error?: Error) => void): void {
    const end = this.#at + bytes.length;
    if (end > this.#memory.length) {
      const range = `at most ${this.#memory.length} bytes, those of the memory`;
      callback(outOfRange('the stream', range, end));
      return;
    }
    let taken = 0;
    for (const view of viewsOf(this.#memory, this.#at, end)) {
      view.set(bytes.subarray(taken, taken + view.length));
      taken += view.length;
    }
    this.#at = end;
    callback();
  }
}

export const writableOf = (memory: StreamedMemory): Writable => new MemoryWritable(memory);
