// Multipart uploads: each has a folder of the store with a file for each part, until it is completed or aborted.
import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { writeAll } from '../base/file-bytes.js';
import { CombinedCrc } from './checksums.js';
import { ObjectError } from './errors.js';
import type { NewFile, ObjectFolder } from './folder.js';
import type { ListedPart } from './xml.js';

const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
// The last part is the CRC-64/NVME of the bytes, if it was checked.
const ETAG = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:-([\da-f]{16}))?$/;
const COPY = 1024 * 1024; // bytes at once

/** The object that an upload becomes. */
export interface UploadTarget {
  readonly bucket: string;
  readonly key: string;
}

export class Uploads {
  readonly #folder: ObjectFolder;

  constructor(folder: ObjectFolder) {
    this.#folder = folder;
  }

  async create(target: UploadTarget): Promise<string> {
    this.#folder.checkBucket(target.bucket);
    const id = randomUUID();
    const path = this.#folder.own(`uploads/${id}`);
    await mkdir(path, { recursive: true });
    try {
      await writeFile(`${path}/target`, JSON.stringify(target));
    } catch (error) {
      await rm(path, { recursive: true, force: true });
      throw error;
    }
    return id;
  }

  /** The folder of an upload. */
  async #find(id: string, { bucket, key }: UploadTarget): Promise<string> {
    if (!ID.test(id)) throw new ObjectError('NoSuchUpload');
    const path = this.#folder.own(`uploads/${id}`);
    const text = await readFile(`${path}/target`, 'utf8').catch(() => undefined);
    const target = text === undefined ? undefined : JSON.parse(text);
    if (target?.bucket !== bucket || target?.key !== key) throw new ObjectError('NoSuchUpload');
    return path;
  }

  check(id: string, target: UploadTarget): Promise<unknown> {
    return this.#find(id, target);
  }

  /** Lets a file become a part. Returns its ETag. @param crc its CRC-64/NVME, if it was checked. */
  async addPart(
    id: string,
    target: UploadTarget,
    number: number,
    file: NewFile,
    crc: string | undefined,
  ): Promise<string> {
    const path = await this.#find(id, target);
    // The ETag is in the name, so that a part and its ETag change together.
    const etag = crc === undefined ? randomUUID() : `${randomUUID()}-${hexOf(crc)}`;
    try {
      renameSync(file.path, `${path}/${number}-${etag}`);
    } catch (error) {
      const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw isGone ? new ObjectError('NoSuchUpload') : error;
    }
    return `"${etag}"`;
  }

  /**
   * Writes the parts into a file, in order.
   *
   * @returns the CRC-64/NVME of all of them, if those of all are known.
   */
  async join(
    id: string,
    target: UploadTarget,
    parts: readonly ListedPart[],
    into: FileHandle,
  ): Promise<string | undefined> {
    const path = await this.#find(id, target);
    if (parts.some(({ number }, i) => i > 0 && number <= (parts[i - 1] as ListedPart).number))
      throw new ObjectError('InvalidPartOrder');
    const all = new CombinedCrc();
    let isKnown = true;
    let at = 0;
    for (const { number, etag } of parts) {
      const name = etag.replaceAll('"', '');
      const [, hex] = ETAG.exec(name) ?? [];
      const part = ETAG.test(name) ? await openPart(`${path}/${number}-${name}`) : undefined;
      if (part === undefined) {
        const detail = `part ${number} is missing, or has another ETag`;
        throw new ObjectError('InvalidPart', { detail });
      }
      const length = await append(part, into, at);
      at += length;
      if (hex === undefined) isKnown = false;
      else all.add(Buffer.from(hex, 'hex').toString('base64'), length);
    }
    return isKnown ? all.text : undefined;
  }

  async remove(id: string, target: UploadTarget): Promise<void> {
    await rm(await this.#find(id, target), { recursive: true, force: true });
  }
}

const hexOf = (crc: string): string => Buffer.from(crc, 'base64').toString('hex');

const openPart = (path: string): Promise<FileHandle | undefined> =>
  open(path).catch((error) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

async function append(part: FileHandle, into: FileHandle, at: number): Promise<number> {
  const buffer = Buffer.allocUnsafe(COPY);
  let length = 0;
  try {
    for (;;) {
      const { bytesRead } = await part.read(buffer, 0, COPY);
      if (bytesRead === 0) return length;
      await writeAll(into, buffer.subarray(0, bytesRead), at + length);
      length += bytesRead;
    }
  } finally {
    await part.close();
  }
}
