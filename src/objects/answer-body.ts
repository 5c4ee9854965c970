// The bytes of an answer to a client. They are read once, in pieces or as a whole, or not wanted.
import { outOfRange } from '../base/errors.js';

export interface AnswerBody {
  /** Bytes, if the answer says how many. */
  readonly length: number | undefined;
  /** The pieces as they arrive. A loop that ends early ends the connection. The memory of each piece belongs to the loop. */
  pieces(): AsyncGenerator<Uint8Array, undefined>;
  /** All bytes. Rejects with `tooLong(bytes)` as soon as there are more than `limit`, and takes no more of them. */
  whole(limit: number, tooLong: (bytes: number) => Error): Promise<Uint8Array>;
  /** Ends the connection unless the bytes were read. */
  cancel(): void;
}

/** The longest body whose memory is allocated when its length is known, before its bytes arrive. */
export const MAX_AT_ONCE = 32 * 1024 * 1024;

/** A piece in memory that belongs to nothing else. */
export const owned = (chunk: Uint8Array): Uint8Array =>
  chunk.byteLength === chunk.buffer.byteLength ? chunk : new Uint8Array(chunk);

/** @throws RangeError ERR_OUT_OF_RANGE if there is no memory for them. */
export function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = newBytes(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** @throws RangeError ERR_OUT_OF_RANGE if there is no memory for them. */
export function newBytes(length: number): Uint8Array {
  try {
    return Buffer.allocUnsafeSlow(length);
  } catch {
    throw tooLongFor(length);
  }
}

export const tooLongFor = (length: number): Error =>
  outOfRange(
    'the object',
    'short enough for the memory of this process: use stream(), or a range',
    length,
  );

/** The bytes of pieces, as AnswerBody.whole() has it. */
export async function gathered(
  pieces: AsyncIterable<Uint8Array>,
  limit: number,
  tooLong: (bytes: number) => Error,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of pieces) {
    length += chunk.length;
    if (length > limit) throw tooLong(length);
    chunks.push(chunk);
  }
  return joined(chunks, length);
}

/** A body that has arrived. */
export class ArrivedBody implements AnswerBody {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  async *pieces(): AsyncGenerator<Uint8Array, undefined> {
    if (this.length > 0) yield owned(this.#bytes);
  }

  async whole(limit: number, tooLong: (bytes: number) => Error): Promise<Uint8Array> {
    if (this.length > limit) throw tooLong(this.length);
    return this.#bytes;
  }

  cancel(): void {}
}
