// Multipart uploads: each has a folder of the store with a file for each part, until it is completed, aborted or too old.
import { randomUUID } from 'node:crypto';
import { closeSync, lstatSync, renameSync } from 'node:fs';
import { type FileHandle, mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { fileOf, readAll, writeAll } from '../base/file-bytes.js';
import { CombinedCrc } from './checksums.js';
import { ObjectError } from './errors.js';
import type { ObjectFolder, OpenObject } from './folder.js';
import { type NewFile, namesIn } from './own-files.js';
import { storedChecksums, storedText } from './stored-checksums.js';
import { ifPresent } from './system-errors.js';
import type { Upload } from './upload-body.js';
import { etagOf } from './versions.js';
import type { ListedPart } from './xml.js';

const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const COPY = 1024 * 1024; // bytes at once

/** The object that an upload becomes. */
export interface UploadTarget {
  readonly bucket: string;
  readonly key: string;
}

const nameOf = (id: string): string => `uploads/${id}`;

export class Uploads {
  readonly #folder: ObjectFolder;
  /** How many requests use each upload. */
  readonly #used = new Map<string, number>();

  constructor(folder: ObjectFolder) {
    this.#folder = folder;
  }

  async create(target: UploadTarget): Promise<string> {
    this.#folder.checkBucket(target.bucket);
    const id = randomUUID();
    const { own } = this.#folder;
    const path = own.at(nameOf(id));
    await own.make(() => mkdir(path, { recursive: true }));
    try {
      await writeFile(`${path}/target`, JSON.stringify(target));
    } catch (error) {
      await rm(path, { recursive: true, force: true });
      throw error;
    }
    return id;
  }

  /** The path of the folder of an upload. */
  async #find(id: string, { bucket, key }: UploadTarget): Promise<string> {
    if (!ID.test(id)) throw new ObjectError('NoSuchUpload');
    const path = this.#folder.own.at(nameOf(id));
    const text = await ifPresent(readFile(`${path}/target`, 'utf8'));
    const target = text === undefined ? undefined : JSON.parse(text);
    if (target?.bucket !== bucket || target?.key !== key) throw new ObjectError('NoSuchUpload');
    return path;
  }

  /** Keeps an upload while a part arrives, however long that takes. */
  async receiving<T>(id: string, target: UploadTarget, work: () => Promise<T>): Promise<T> {
    await this.#find(id, target);
    return this.#using(id, work);
  }

  /** An upload is not too old while it is used, and later counts as used now. */
  async #using<T>(id: string, work: () => Promise<T>): Promise<T> {
    this.#used.set(id, (this.#used.get(id) ?? 0) + 1);
    try {
      return await work();
    } finally {
      await touch(this.#folder.own.at(nameOf(id)));
      const others = (this.#used.get(id) ?? 1) - 1;
      if (others > 0) this.#used.set(id, others);
      else this.#used.delete(id);
    }
  }

  /** Lets a file become a part. It takes the place of an earlier one with the number. Returns its ETag. */
  async addPart(
    id: string,
    target: UploadTarget,
    number: number,
    file: NewFile,
    upload: Upload,
  ): Promise<string> {
    const path = await this.#find(id, target);
    const version = await this.#folder.finish(file, storedText(upload), false);
    try {
      renameSync(file.path, `${path}/${number}`);
    } catch (error) {
      const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw isGone ? new ObjectError('NoSuchUpload') : error;
    }
    return etagOf(version);
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
    await this.#find(id, target);
    if (parts.some(({ number }, i) => i > 0 && number <= (parts[i - 1] as ListedPart).number))
      throw new ObjectError('InvalidPartOrder');
    return this.#using(id, () => this.#join(id, target, parts, into));
  }

  async #join(
    id: string,
    target: UploadTarget,
    parts: readonly ListedPart[],
    into: FileHandle,
  ): Promise<string | undefined> {
    const all = new CombinedCrc();
    let isKnown = true;
    let at = 0;
    for (const listed of parts) {
      const part = await this.#openPart(id, target, listed);
      await append(part, into, at);
      at += part.size;
      const crc = storedChecksums(part).get('crc64nvme');
      if (crc === undefined) isKnown = false;
      else all.add(crc, part.size);
    }
    return isKnown ? all.text : undefined;
  }

  async #openPart(
    id: string,
    target: UploadTarget,
    { number, etag }: ListedPart,
  ): Promise<OpenObject> {
    const part = await this.#folder.own.open(`${nameOf(id)}/${number}`);
    if (part && etag.replaceAll('"', '') === etagOf(part).replaceAll('"', '')) return part;
    if (part && part.fd >= 0) closeSync(part.fd);
    await this.#find(id, target); // another completion may have removed it
    const detail = `part ${number} is missing, or has another ETag`;
    throw new ObjectError('InvalidPart', { detail });
  }

  /** Refuses an upload that was completed or aborted meanwhile. Synchronous. */
  checkStays(id: string): void {
    const path = `${this.#folder.own.at(nameOf(id))}/target`;
    if (!lstatSync(path, { throwIfNoEntry: false })) throw new ObjectError('NoSuchUpload');
  }

  /** Ends an upload. Parts that arrive at the same time get NoSuchUpload, and nothing of them stays. */
  async remove(id: string, target: UploadTarget): Promise<void> {
    const path = await this.#find(id, target);
    if (!(await this.#folder.own.removeFolder(path))) throw new ObjectError('NoSuchUpload');
  }

  /** Ends an upload that has become an object. Another request may have ended it. */
  async ended(id: string): Promise<void> {
    await this.#folder.own.removeFolder(this.#folder.own.at(nameOf(id)));
  }

  /** Removes the uploads that were created, and got their last part, before a time. @param before milliseconds since 1970. */
  async removeExpired(before: number): Promise<void> {
    const folder = this.#folder.own.at('uploads');
    for (const id of await namesIn(folder)) {
      if (this.#used.has(id)) continue;
      const path = `${folder}/${id}`;
      const stats = await ifPresent(stat(path)); // it may be removed since
      // A part that gets its name changes the time of the folder.
      if (stats && stats.mtimeMs < before && !this.#used.has(id))
        await this.#folder.own.removeFolder(path);
    }
  }
}

/** The upload is not left behind. It may have ended. */
async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}

/** Copies a part, and closes it. */
async function append({ fd, size }: OpenObject, into: FileHandle, at: number): Promise<void> {
  if (fd < 0) return; // it is empty
  const buffer = Buffer.allocUnsafe(Math.min(COPY, size));
  try {
    for (let done = 0; done < size; ) {
      const bytes = buffer.subarray(0, Math.min(COPY, size - done));
      if ((await readAll(fileOf(fd), bytes, done)) < bytes.length)
        throw new ObjectError('InvalidPart', { detail: 'the file of a part has become shorter' });
      await writeAll(into, bytes, at + done);
      done += bytes.length;
    }
  } finally {
    closeSync(fd);
  }
}
