// Checksums, off the event loop.
import { webcrypto } from 'node:crypto';
import { types } from 'node:util';
import { native } from '../contract/native.js';
import { ObjectError } from './errors.js';
import { hashOfFile } from './hash-thread.js';
import { systemError } from './system-errors.js';

/** A checksum that both sides can compute. */
export type ChecksumAlgorithm = 'crc64nvme' | 'sha256';

/** Those with which clients of S3 may send objects. */
export type UploadAlgorithm = ChecksumAlgorithm | 'sha1' | 'crc32' | 'crc32c' | 'md5';

// Bytes: the hop to another thread takes longer than the CRC of fewer, also for the event loop.
const AT_ONCE = 128 * 1024;

/** The CRC of bytes that follow others, which have the CRC `before`. */
export const crcAfter = (before: bigint, bytes: Uint8Array): bigint | Promise<bigint> =>
  bytes.length <= AT_ONCE ? native.crc64Now(bytes, before) : native.crc64(bytes, before);

/** A CRC as S3 writes it: 8 bytes in base64. */
export function textOfCrc(crc: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(crc);
  return bytes.toString('base64');
}

/** The CRC of a text of S3. Undefined if it is malformed. */
export function crcOfText(text: string): bigint | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 8 && bytes.toString('base64') === text
    ? bytes.readBigUInt64BE()
    : undefined;
}

/** The checksum of bytes, which stay as they are meanwhile. In base64. */
export async function checksumOf(algorithm: ChecksumAlgorithm, bytes: Uint8Array): Promise<string> {
  if (algorithm === 'sha256') {
    // WebCrypto takes no shared memory.
    const own = types.isSharedArrayBuffer(bytes.buffer) ? Uint8Array.from(bytes) : bytes;
    return Buffer.from(await webcrypto.subtle.digest('SHA-256', own)).toString('base64');
  }
  return textOfCrc(await crcAfter(0n, bytes));
}

/** The checksum of the bytes [start, end) of a file. In base64. */
export async function checksumOfFile(
  algorithm: UploadAlgorithm,
  fd: number,
  start: number,
  end: number,
): Promise<string> {
  if (algorithm !== 'crc64nvme') return hashOfFile(algorithm, fd, start, end);
  if (start === end) return textOfCrc(0n); // an empty file has no descriptor
  const crc = await native.crc64File(fd, start, end);
  if (typeof crc === 'number') throw systemError(crc);
  return textOfCrc(crc);
}

/** The checksum of pieces in sequence. */
export class CombinedCrc {
  #crc = 0n;

  add(piece: string, length: number): void {
    const crc = crcOfText(piece);
    if (crc === undefined)
      throw new ObjectError('BadDigest', { detail: 'a checksum is malformed' });
    this.#crc = native.crc64Combine(this.#crc, crc, length);
  }

  get text(): string {
    return textOfCrc(this.#crc);
  }
}

/** Refuses bytes whose checksum differs. */
export function checkSame(algorithm: string, expected: string, actual: string, key?: string): void {
  if (expected === actual) return;
  const detail = `the ${algorithm} of the bytes is ${actual}, not ${expected}`;
  throw new ObjectError('BadDigest', { detail, key });
}
