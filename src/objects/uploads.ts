// Multipart uploads: each has a folder of the store with a file for each part, until it is completed, aborted or too old.
import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync } from 'node:fs';
import { type FileHandle, mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { fileOf, readAll, writeAll } from '../base/file-bytes.js';
import { native } from '../contract/native.js';
import { CombinedCrc, checksumOfFile } from './checksums.js';
import { ObjectError } from './errors.js';
import type { ObjectFolder, OpenObject } from './folder.js';
import { isOwnName, type NewFile } from './own-files.js';
import type { S3Algorithm, UploadChecksums } from './s3-checksums.js';
import { storedChecksums, storedText } from './stored-checksums.js';
import { ifPresent } from './system-errors.js';
import type { Upload } from './upload-body.js';
import { etagOf } from './versions.js';
import type { ListedPart } from './xml.js';

const COPY = 1024 * 1024; // bytes at once

/** The object that an upload becomes. */
export interface UploadTarget {
  readonly bucket: string;
  readonly key: string;
}

/** What is stored of an upload. */
interface StoredUpload extends UploadTarget {
  readonly checksums?: UploadChecksums | undefined;
}

/** What the parts of an upload are together. */
export interface JoinedParts {
  /** Bytes. */
  readonly size: number;
  /** The CRC-64/NVME, if those of all parts are known. */
  readonly crc: string | undefined;
  /** The checksums of the parts for each algorithm that was asked for. */
  readonly checksums: ReadonlyMap<S3Algorithm, readonly string[]>;
}

const nameOf = (id: string): string => `uploads/${id}`;

export class Uploads {
  readonly #folder: ObjectFolder;
  /** How many requests use each upload. */
  readonly #used = new Map<string, number>();

  readonly #creating = new Set<{ readonly bucket: string; isLost: boolean }>();

  constructor(folder: ObjectFolder) {
    this.#folder = folder;
  }

  async create({ bucket, key, checksums }: StoredUpload): Promise<string> {
    const target: StoredUpload = { bucket, key, checksums };
    const id = randomUUID();
    const { own } = this.#folder;
    const path = own.at(nameOf(id));
    await own.make(() => mkdir(path));
    const creating = { bucket, isLost: false };
    this.#creating.add(creating);
    try {
      await writeFile(`${path}/target`, JSON.stringify(target));
      this.#folder.checkBucket(bucket);
      if (creating.isLost) throw new ObjectError('NoSuchBucket');
    } catch (error) {
      await rm(path, { recursive: true, force: true });
      throw error;
    } finally {
      this.#creating.delete(creating);
    }
    return id;
  }

  /** The path of the folder of an upload, and the checksums that it was created for. */
  async #find(id: string, { bucket, key }: UploadTarget) {
    if (!isOwnName(id)) throw new ObjectError('NoSuchUpload');
    const path = this.#folder.own.at(nameOf(id));
    const target = await targetIn(path);
    if (target?.bucket !== bucket || target?.key !== key) throw new ObjectError('NoSuchUpload');
    return { path, checksums: target.checksums };
  }

  /** Keeps an upload while a part arrives, however long that takes. `work` gets the checksums that it was created for. */
  async receiving<T>(
    id: string,
    target: UploadTarget,
    work: (checksums: UploadChecksums | undefined) => Promise<T>,
  ): Promise<T> {
    const { checksums } = await this.#find(id, target);
    return this.#using(id, () => work(checksums));
  }

  /** The checksums that an upload was created for. */
  async checksumsOf(id: string, target: UploadTarget): Promise<UploadChecksums | undefined> {
    return (await this.#find(id, target)).checksums;
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
    const { path } = await this.#find(id, target);
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
   * @param algorithms of the checksums of the parts that the result has.
   * @throws ObjectError InvalidPart if the list has another checksum than the bytes of a part.
   */
  async join(
    id: string,
    target: UploadTarget,
    parts: readonly ListedPart[],
    algorithms: readonly S3Algorithm[],
    into: FileHandle,
  ): Promise<JoinedParts> {
    await this.#find(id, target);
    if (parts.some(({ number }, i) => i > 0 && number <= (parts[i - 1] as ListedPart).number))
      throw new ObjectError('InvalidPartOrder');
    return this.#using(id, () => this.#join(id, target, parts, algorithms, into));
  }

  async #join(
    id: string,
    target: UploadTarget,
    parts: readonly ListedPart[],
    algorithms: readonly S3Algorithm[],
    into: FileHandle,
  ): Promise<JoinedParts> {
    const all = new CombinedCrc();
    let isKnown = true;
    let size = 0;
    const checksums = new Map(algorithms.map((each) => [each, [] as string[]]));
    for (const listed of parts) {
      const part = await this.#openPart(id, target, listed);
      const stored = storedChecksums(part);
      try {
        const checksumOf = async (algorithm: S3Algorithm) =>
          stored.get(algorithm) ?? (await checksumOfFile(algorithm, part.fd, 0, part.size));
        for (const [algorithm, value] of listed.checksums)
          checkListed(listed, algorithm, value, await checksumOf(algorithm));
        for (const [algorithm, values] of checksums) values.push(await checksumOf(algorithm));
        await append(part, into, size);
      } finally {
        if (part.fd >= 0) native.closeDescriptor(part.fd);
      }
      size += part.size;
      const crc = stored.get('crc64nvme');
      if (crc === undefined) isKnown = false;
      else all.add(crc, part.size);
    }
    return { size, crc: isKnown ? all.text : undefined, checksums };
  }

  async #openPart(
    id: string,
    target: UploadTarget,
    { number, etag }: ListedPart,
  ): Promise<OpenObject> {
    const part = await this.#folder.own.open(`${nameOf(id)}/${number}`);
    if (part && etag.replaceAll('"', '') === etagOf(part).replaceAll('"', '')) return part;
    if (part && part.fd >= 0) native.closeDescriptor(part.fd);
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
    const { path } = await this.#find(id, target);
    if (!(await this.#folder.own.removeFolder(path))) throw new ObjectError('NoSuchUpload');
  }

  /** Ends an upload that has become an object. Another request may have ended it. */
  async ended(id: string): Promise<void> {
    await this.#folder.own.removeFolder(this.#folder.own.at(nameOf(id)));
  }

  /** Removes the uploads that were created, and got their last part, before a time. @param before milliseconds since 1970. */
  async removeExpired(before: number): Promise<void> {
    const { own } = this.#folder;
    // A part that gets its name changes the time of the folder.
    for await (const { name, path, stats } of own.uploads())
      if (stats.mtimeMs < before && !this.#used.has(name)) await own.removeFolder(path);
  }

  /** Ends the uploads of a bucket that was removed: they are not those of a later bucket with its name. */
  async endAll(bucket: string): Promise<void> {
    for (const creating of this.#creating) if (creating.bucket === bucket) creating.isLost = true;
    const { own } = this.#folder;
    for await (const { path } of own.uploads()) {
      const target = await targetIn(path);
      if (target?.bucket === bucket) await own.removeFolder(path);
    }
  }
}

/** What an upload in a folder was created for. Undefined if there is none. */
async function targetIn(path: string): Promise<StoredUpload | undefined> {
  const text = await ifPresent(readFile(`${path}/target`, 'utf8'));
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined; // its creation has not ended
  }
}

/** The upload is not left behind. It may have ended. */
async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}

function checkListed(
  { number }: ListedPart,
  algorithm: S3Algorithm,
  listed: string,
  actual: string,
): void {
  if (listed === actual) return;
  const detail = `the ${algorithm} of part ${number} is ${actual}, not ${listed}`;
  throw new ObjectError('InvalidPart', { detail });
}

/** Copies a part. */
async function append({ fd, size }: OpenObject, into: FileHandle, at: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(COPY, size));
  for (let done = 0; done < size; ) {
    const bytes = buffer.subarray(0, Math.min(COPY, size - done));
    if ((await readAll(fileOf(fd), bytes, done)) < bytes.length)
      throw new ObjectError('InvalidPart', { detail: 'the file of a part has become shorter' });
    await writeAll(into, bytes, at + done);
    done += bytes.length;
  }
}
