// An object server's folder in memory, for the fuzzers: one object, and a new file that takes any bytes.
import { openSync } from 'node:fs';
import { ObjectError } from '../../../dist/objects/errors.js';
import { ObjectService } from '../../../dist/objects/service.js';

export const CONTENT = Uint8Array.from({ length: 1000 }, (_, i) => i % 251);
export const VERSION = { size: CONTENT.length, modified: 1_700_000_000_123_456, inode: 36 };
const CHECKSUM = `${VERSION.modified} crc64nvme=AAAAAAAAAAA= sha256=bm9uZQ==`;

const empty = openSync('/dev/null', 'r');

export class MemoryFolder {
  /** What was written into new files. */
  written = [];

  read(bucket, key, inlined, checksum, room) {
    this.checkBucket(bucket);
    if (key !== 'a') return Promise.reject(new ObjectError('NoSuchKey'));
    const bytes = room?.subarray(0, CONTENT.length);
    bytes?.set(CONTENT);
    const content = inlined === null || inlined < CONTENT.length ? null : (bytes ?? CONTENT);
    return Promise.resolve({
      ...VERSION,
      fd: -1,
      checksum: checksum ? CHECKSUM : '',
      bytes: content,
    });
  }
  checkBucket(bucket) {
    if (bucket !== 'b') throw new ObjectError('NoSuchBucket');
  }
  openFolder() {
    return undefined;
  }
  async buckets() {
    return ['b'];
  }
  async createBucket() {}
  async deleteBucket(bucket) {
    this.checkBucket(bucket);
  }
  own = {
    at: (name) => `/dev/null/${name}`, // no upload is known
    make: (make) => make(),
    create: async () => {
      const write = async (bytes, offset, length, position) => {
        this.written.push(Buffer.from(bytes.subarray(offset, offset + length)));
        this.end = position + length;
        return { bytesWritten: length };
      };
      return { path: '', handle: { fd: empty, write, stat: async () => ({ size: 0 }) } };
    },
    discard: async () => {},
    async *uploads() {},
  };
  async finish() {
    return VERSION;
  }
  async replace(_file, bucket, key, check) {
    this.checkReplace(bucket, key, check);
  }
  checkReplace(bucket, key, check) {
    this.checkBucket(bucket);
    check(key === 'a' ? VERSION : undefined);
  }
  async remove(bucket, key, check) {
    this.checkReplace(bucket, key, check);
  }
}

/** A service over such a folder, for which an internal error is a defect. */
export function serviceOf(folder) {
  return new ObjectService({ folder, fabric: undefined }, undefined, (error) => {
    throw error instanceof Error ? error : new Error(`internal: ${error}`);
  });
}
