// The checksum of bytes that arrive in pieces.
import { createHash } from 'node:crypto';
import { native } from '../contract/native.js';
import { AT_ONCE, type ChecksumAlgorithm, textOfCrc } from './checksums.js';

export class RunningChecksum {
  readonly #hash: ReturnType<typeof createHash> | undefined;
  #crc = 0n;

  constructor(algorithm: ChecksumAlgorithm) {
    if (algorithm === 'sha256') this.#hash = createHash('sha256');
  }

  async add(bytes: Uint8Array): Promise<void> {
    if (this.#hash) this.#hash.update(bytes);
    else if (bytes.length <= AT_ONCE) this.#crc = native.crc64Now(bytes, this.#crc);
    else this.#crc = await native.crc64(bytes, this.#crc);
  }

  /** In base64. The last call. */
  get text(): string {
    return this.#hash ? this.#hash.digest('base64') : textOfCrc(this.#crc);
  }
}
