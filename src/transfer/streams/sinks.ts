import { FabricError } from '../../base/errors.js';
import { writeAll } from '../../base/file-bytes.js';
import { errnoOf } from '../errors.js';
import type { FileRange } from './file-range.js';

/** Where the bytes of a stream go, in their order. */
export interface ByteSink {
  /** Resolves when the program wants bytes. If omitted, always. */
  ready?(signal: AbortSignal): Promise<void>;
  /** Takes bytes. Resolves when their memory is free. */
  take(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
}

/** A file, from a position on. */
export class FileSink implements ByteSink {
  readonly #range: FileRange;
  #at: number;

  constructor(range: FileRange) {
    this.#range = range;
    this.#at = range.start ?? 0;
  }

  async take(bytes: Uint8Array): Promise<void> {
    const { file, end = Number.MAX_SAFE_INTEGER } = this.#range;
    if (this.#at + bytes.length > end) {
      throw new FabricError(errnoOf('FI_ETOOSMALL'), 'stream', {
        detail: `the range of the file ends at ${end}, and the stream has more bytes`,
      });
    }
    await writeAll(file, bytes, this.#at);
    this.#at += bytes.length;
  }
}
