// The checksum of bytes that arrive in pieces.
import { createHash } from 'node:crypto';
import { type ChecksumAlgorithm, crcAfter, textOfCrc } from './checksums.js';

export class RunningChecksum {
  readonly #hash: ReturnType<typeof createHash> | undefined;
  #crc = 0n;

  constructor(algorithm: ChecksumAlgorithm) {
    if (algorithm === 'sha256') this.#hash = createHash('sha256');
  }

  async add(bytes: Uint8Array): Promise<void> {
    if (this.#hash) this.#hash.update(bytes);
    else this.#crc = await crcAfter(this.#crc, bytes);
  }

  /** In base64. The last call. */
  get text(): string {
    return this.#hash ? this.#hash.digest('base64') : textOfCrc(this.#crc);
  }
}
