import { FabricError, outOfRange } from '../../base/errors.js';
import { readAll } from '../../base/file-bytes.js';
import { errnoOf } from '../errors.js';
import type { FileRange } from './file-range.js';
import type { ByteSource } from './sources.js';

/** The bytes of a file. */
export class FileSource implements ByteSource {
  readonly #name: string;
  readonly #range: FileRange;
  #at: number;
  #size = 0; // of the file at the beginning
  #checking: Promise<void> | undefined;

  constructor(name: string, range: FileRange) {
    this.#name = name;
    this.#range = range;
    this.#at = range.start ?? 0;
  }

  /** @throws RangeError ERR_OUT_OF_RANGE if the range goes beyond the end of the file. */
  check(): Promise<void> {
    this.#checking ??= this.#check();
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { file, start = 0, end = start } = this.#range;
    const stats = await file.stat();
    if (!stats.isFile()) return;
    this.#size = stats.size;
    if (end > stats.size)
      throw outOfRange(this.#name, `within the ${stats.size} bytes of the file`, end);
  }

  async ready(): Promise<boolean> {
    await this.check();
    return true;
  }

  async fill(into: Uint8Array): Promise<number> {
    await this.check();
    const { file, end = Number.MAX_SAFE_INTEGER } = this.#range;
    const wanted = into.subarray(0, end - this.#at);
    const length = await readAll(file, wanted, this.#at);
    this.#at += length;
    if (length < wanted.length) await this.#checkEnd();
    return length;
  }

  // The size of a file of the kernel, such as those below /sys, may be more than its bytes.
  async #checkEnd(): Promise<void> {
    const { file, end } = this.#range;
    if (end === undefined && (await file.stat()).size >= this.#size) return;
    throw new FabricError(errnoOf('FI_ENODATA'), 'stream', {
      detail: `the file has become shorter: it ends at ${this.#at}, not at ${end ?? this.#size}`,
    });
  }

  cancel(): void {}
}
