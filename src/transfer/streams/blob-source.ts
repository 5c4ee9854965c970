import { FabricError } from '../../base/errors.js';
import { within } from '../../base/wait-options.js';
import { errnoOf } from '../errors.js';
import type { ByteSource } from './sources.js';

/** The bytes of a Blob, which may be a file: fs.openAsBlob(). */
export class BlobSource implements ByteSource {
  readonly #blob: Blob;
  #at = 0;

  constructor(blob: Blob) {
    this.#blob = blob;
  }

  async ready(): Promise<boolean> {
    return this.#at < this.#blob.size;
  }

  async fill(into: Uint8Array, signal: AbortSignal): Promise<number> {
    const part = this.#blob.slice(this.#at, this.#at + into.length);
    const bytes = await within(part.arrayBuffer(), { signal, timeout: undefined }, 'stream');
    into.set(new Uint8Array(bytes));
    this.#at += bytes.byteLength;
    if (bytes.byteLength < part.size) {
      throw new FabricError(errnoOf('FI_ENODATA'), 'stream', {
        detail: `the Blob has ended at ${this.#at}, not at ${this.#blob.size}`,
      });
    }
    return bytes.byteLength;
  }

  cancel(): void {}
}
