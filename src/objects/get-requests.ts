// What a client asks for when it gets an object, and what it takes of the answers.
import { outOfRange } from '../base/errors.js';
import type { MemoryPart } from '../transfer/memory.js';
import { gathered } from './answer-body.js';
import {
  type AskedRange,
  dateIn,
  errorOf,
  etagIn,
  invalidAnswer,
  lengthIn,
  otherLength,
  type Part,
  partIn,
  rangeIn,
} from './answers.js';
import { bytesIn } from './arriving-object.js';
import { type ChecksumAlgorithm, checkSame, checksumOf } from './checksums.js';
import type { Connection, Way } from './connection.js';
import { ObjectError } from './errors.js';
import type { Answer, Head, OpenAnswer } from './exchange.js';
import { CHECKSUM, INLINE, INLINED, LENGTH } from './protocol.js';
import type { Range } from './versions.js';

/** Bytes of a piece over HTTP. */
export const PIECE = 8 * 1024 * 1024;

/** What a GET asks for. */
export interface Wanted {
  readonly key: string;
  readonly path: string;
  readonly range: AskedRange | undefined;
  readonly fields: Readonly<Record<string, string>>;
  readonly checksum: ChecksumAlgorithm | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The object of an answer. */
export interface ObjectInfo {
  /** Bytes of the whole object. */
  readonly size: number;
  readonly etag: string;
  readonly lastModified: Date;
}

/** What is known of an object after the first request. */
export interface Found {
  readonly head: Head;
  readonly etag: string;
  /** Bytes of the object. Undefined if the server does not say how many, for a stream. */
  readonly size: number | undefined;
  /** The bytes of the object that are wanted. */
  readonly start: number;
  /** How many, with `bytes` or without `arriving`. */
  readonly length: number;
  /** Bytes that have come with the answer. */
  readonly bytes?: Uint8Array;
  /** Bytes that come with the answer. */
  readonly arriving?: AsyncIterable<Uint8Array>;
}

/** How many bytes a call takes. */
export interface Room {
  readonly length: number;
  /** The error of an object that has more. @param atLeast bytes that it has. */
  readonly tooLong: (atLeast: number) => Error;
}

/** @throws ObjectError InvalidAnswer. */
export function infoOf(head: Head, key: string, size?: number): ObjectInfo {
  return {
    size: size ?? lengthIn(head.fields['content-length'] ?? '', key),
    etag: etagIn(head, key),
    lastModified: dateIn(head.fields['last-modified'], key),
  };
}

/** The room of memory of the program. */
export const roomOf = (length: number): Room => ({
  length,
  tooLong: (bytes) =>
    outOfRange('options.into', `at least the ${bytes} bytes of the object`, length),
});

/** The requests of a GET: the first one describes the object, and may bring it, and others bring pieces. */
export class GetRequests {
  readonly #connection: Connection;
  readonly #way: Way;
  readonly #wanted: Wanted;

  constructor(connection: Connection, way: Way, wanted: Wanted) {
    this.#connection = connection;
    this.#way = way;
    this.#wanted = wanted;
  }

  /** Bytes that come with the answer to the first request, from a server of this package. */
  get #inlined(): number {
    return this.#way.fabric ? INLINED : PIECE;
  }

  #callOf(fields: Readonly<Record<string, string>>) {
    const { path, signal, checksum } = this.#wanted;
    const all = { ...fields, ...(checksum && { [CHECKSUM]: checksum }) };
    return { method: 'GET', path, fields: all, signal };
  }

  #send(fields: Readonly<Record<string, string>>): Promise<Answer> {
    return this.#connection.send(this.#way, this.#callOf(fields));
  }

  /**
   * Asks for the object.
   *
   * @param room for its bytes. Undefined: they are taken as they arrive.
   * @param inlined the most bytes that may come now.
   */
  async find(room: Room | undefined, inlined = this.#inlined): Promise<Found> {
    const { range, fields } = this.#wanted;
    const of = range && `bytes=${range.start}-${range.end === undefined ? '' : range.end - 1}`;
    const asked = { ...fields, [INLINE]: String(inlined), ...(of && { range: of }) };
    const answer = await this.#connection.open(this.#way, this.#callOf(asked));
    try {
      return await this.#found(answer, room);
    } catch (error) {
      answer.body.cancel();
      throw error;
    }
  }

  async #found(answer: OpenAnswer, room: Room | undefined): Promise<Found> {
    const { key, range, signal, checksum } = this.#wanted;
    const { status, fields, body } = answer;
    const connection = this.#connection;
    if (status !== 200 && status !== 206) throw errorOf(await connection.read(answer, signal), key);
    const head = { status, fields };
    const etag = etagIn(answer, key);
    const later = fields[LENGTH];
    const described = later === undefined ? body.length : lengthIn(later, key);
    const part = partIn(answer, range, described, key);
    if (room) dateIn(fields['last-modified'], key); // before the bytes are taken
    const { start, end, size } = part;
    if (later !== undefined) {
      await connection.read(answer, signal);
      return { head, etag, size, start, length: (end as number) - start };
    }
    const length = end === undefined ? undefined : end - start;
    if (room === undefined && (length === undefined || length > PIECE || part.isCut)) {
      const expected = checksum && this.#expectedOf(head, part);
      const of = { key, checksum, expected };
      return { head, etag, size, start, length: length ?? 0, arriving: bytesIn(answer, part, of) };
    }
    const bytes = await connection.unlessClosed(this.#take(answer, part, room), signal);
    if (checksum) await this.#verify(head, bytes, part);
    return { head, etag, size: size ?? bytes.length, start, length: bytes.length, bytes };
  }

  /** Takes the bytes of an answer. */
  #take(answer: OpenAnswer, part: Part, room: Room | undefined): Promise<Uint8Array> {
    const { key } = this.#wanted;
    if (part.isCut && part.size === undefined)
      throw invalidAnswer('the answer is not the range, and does not say how long the object is', {
        key,
        hint: 'the server does not know ranges: use stream()',
      });
    const length = part.end === undefined ? undefined : part.end - part.start;
    if (room && length !== undefined && length > room.length) throw room.tooLong(length);
    const limit = length ?? room?.length ?? 0;
    const tooLong = (bytes: number) =>
      (length === undefined && room?.tooLong(bytes)) || otherLength(key);
    if (part.isCut) return gathered(bytesIn(answer, part, { key }), limit, tooLong);
    return answer.body.whole(limit, tooLong).then((bytes) => {
      if (length !== undefined && bytes.length !== length) throw otherLength(key);
      return bytes;
    });
  }

  /** The checksum of an answer. @param part if it is not what the answer has, there is none. */
  #expectedOf({ fields }: Head, part?: Part): string {
    const { checksum, key } = this.#wanted;
    const text = fields[CHECKSUM] ?? '';
    const expected = text.startsWith(`${checksum}=`)
      ? text.slice(`${checksum}=`.length)
      : fields[`x-amz-checksum-${checksum}`];
    if (expected !== undefined && !part?.isCut) return expected;
    throw new ObjectError('NotImplemented', { detail: `the server sends no ${checksum}`, key });
  }

  /** Checks bytes, and returns their checksum. */
  async #verify(head: Head, bytes: Uint8Array, part?: Part): Promise<string | undefined> {
    const { checksum, key } = this.#wanted;
    if (checksum === undefined) return undefined;
    const expected = this.#expectedOf(head, part);
    const actual = await checksumOf(checksum, bytes);
    checkSame(checksum, expected, actual, key);
    return actual;
  }

  #fieldsOf({ start, end }: Range, { etag }: Found): Record<string, string> {
    return { range: `bytes=${start}-${end - 1}`, 'if-match': etag };
  }

  #checkPiece(answer: Answer, asked: Range, { size, etag }: Found): Answer {
    const { key } = this.#wanted;
    if (answer.status >= 300) throw errorOf(answer, key);
    if (answer.status !== 206) throw invalidAnswer('the answer is not the range', { key });
    if (rangeIn(answer, asked, key).size !== size || etagIn(answer, key) !== etag)
      throw new ObjectError('PreconditionFailed', { key });
    const length = lengthIn(answer.fields[LENGTH] ?? String(answer.body.length), key);
    if (length !== asked.end - asked.start) throw otherLength(key);
    return answer;
  }

  /** Gets a piece into memory that the fabric reaches. */
  async intoMemory(found: Found, range: Range, part: MemoryPart): Promise<string | undefined> {
    const fabric = this.#way.fabric as NonNullable<Way['fabric']>;
    const fields = this.#fieldsOf(range, found);
    const answer = await fabric.offering(part, 'write', (offer) =>
      this.#send({ ...fields, ...offer }),
    );
    this.#checkPiece(answer, range, found);
    return this.#wanted.checksum && this.#verify(answer, part.bytes);
  }

  /** Gets a piece by HTTP. */
  async inBody(found: Found, range: Range): Promise<[Uint8Array, string | undefined]> {
    const answer = await this.#send(this.#fieldsOf(range, found));
    this.#checkPiece(answer, range, found);
    return [answer.body, await this.#verify(answer, answer.body)];
  }
}
