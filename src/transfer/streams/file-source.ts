import type { FileHandle } from 'node:fs/promises';
import { FabricError, outOfRange } from '../../base/errors.js';
import { readAll } from '../../base/file-bytes.js';
import { errnoOf } from '../errors.js';
import type { FileRange } from './file-range.js';
import type { ByteSource } from './sources.js';

/** What a change of a file changes. */
interface Version {
  /** Bytes. */
  readonly size: number;
  /** The time of the last change. Nanoseconds. */
  readonly changed: bigint;
}

/** Undefined for what is no regular file, such as a pipe. */
async function versionOf(file: FileHandle): Promise<Version | undefined> {
  const stats = await file.stat({ bigint: true });
  return stats.isFile() ? { size: Number(stats.size), changed: stats.ctimeNs } : undefined;
}

/** The bytes of a file. */
export class FileSource implements ByteSource {
  readonly #name: string;
  readonly #range: FileRange;
  #at: number;
  #first: Version | undefined; // at the beginning
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
    this.#first = await versionOf(file);
    const size = this.#first?.size ?? Number.POSITIVE_INFINITY;
    if (end > size) throw outOfRange(this.#name, `within the ${size} bytes of the file`, end);
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
    if (length < wanted.length && !(await this.#isWhole())) throw this.#shortened();
    return length;
  }

  // Whether the bytes that were read until the end of the file are all that it had at the beginning. The file may be longer
  // again by now. The size of a file of the kernel, such as those below /sys, may be more than its bytes: it never changes.
  async #isWhole(): Promise<boolean> {
    const { file, end } = this.#range;
    if (end !== undefined) return false;
    const first = this.#first;
    if (first === undefined || this.#at >= first.size) return true;
    const last = await versionOf(file);
    if (last?.size !== first.size || last.changed !== first.changed) return false;
    return (await readAll(file, new Uint8Array(1), this.#at)) === 0;
  }

  #shortened(): FabricError {
    const end = this.#range.end ?? this.#first?.size;
    return new FabricError(errnoOf('FI_ENODATA'), 'stream', {
      detail: `the file has become shorter: it ended at ${this.#at}, not at ${end}`,
    });
  }

  cancel(): void {}
}
