// How a client gets the bytes of an object: those of a short one with the answer, those of a long one in pieces.
import { FirstAbort } from '../base/abort-signals.js';
import { invalidArgValue, outOfRange } from '../base/errors.js';
import { isInstance } from '../base/objects.js';
import { MemoryPart, TransferMemory } from '../transfer/memory.js';
import { type ChecksumAlgorithm, CombinedCrc, checkSame, checksumOf } from './checksums.js';
import { type Connection, errorOf, type Way } from './connection.js';
import { ObjectError } from './errors.js';
import type { Answer } from './exchange.js';
import { CHECKSUM, INLINE, INLINED, LENGTH } from './protocol.js';
import { checkStays } from './request-body.js';
import type { Range } from './versions.js';

const PIECE = 8 * 1024 * 1024; // bytes of a piece over HTTP
const AT_ONCE = 3; // pieces

/** What a GET asks for. */
export interface Wanted {
  readonly key: string;
  readonly path: string;
  readonly range: { readonly start: number; readonly end?: number | undefined } | undefined;
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

/** What is known of an object after the first request: its bytes if they are few. */
interface Found {
  readonly info: ObjectInfo;
  /** The bytes of the object that are wanted. */
  readonly range: Range;
  readonly bytes: Uint8Array | undefined;
  /** The CRC-64/NVME that a PUT has stored. */
  readonly stored: string | undefined;
}

/** A number of an answer. */
export function lengthIn(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new ObjectError('InternalError', { detail: 'the answer has a malformed length' });
}

export function infoOf({ fields }: Answer): ObjectInfo {
  const ofRange = /\/(\d+)$/.exec(fields['content-range'] ?? '')?.[1];
  return {
    size: lengthIn(ofRange ?? fields[LENGTH] ?? fields['content-length'] ?? '0'),
    etag: fields.etag ?? '',
    lastModified: new Date(fields['last-modified'] ?? 0),
  };
}

/** A GET in progress. */
export class Getting {
  readonly #connection: Connection;
  readonly #way: Way;
  readonly #wanted: Wanted;

  constructor(connection: Connection, way: Way, wanted: Wanted) {
    this.#connection = connection;
    this.#way = way;
    this.#wanted = wanted;
  }

  /** Bytes that come with the answer to the first request. */
  get #inlined(): number {
    return this.#way.fabric ? INLINED : PIECE;
  }

  #send(fields: Readonly<Record<string, string>>): Promise<Answer> {
    const { path, signal, checksum } = this.#wanted;
    const all = { ...fields, ...(checksum && { [CHECKSUM]: checksum }) };
    return this.#connection.send(this.#way, { method: 'GET', path, fields: all, signal });
  }

  /** @param inlined the most bytes that may come now. */
  async find(inlined = this.#inlined): Promise<Found> {
    const { range, fields, key, checksum } = this.#wanted;
    const of = range && `bytes=${range.start}-${range.end === undefined ? '' : range.end - 1}`;
    const asked = { ...fields, [INLINE]: String(inlined), ...(of && { range: of }) };
    const answer = await this.#send(asked);
    if (answer.status !== 200 && answer.status !== 206) throw errorOf(answer, key);
    const later = answer.fields[LENGTH];
    const length = later === undefined ? answer.body.length : lengthIn(later);
    const start = answer.status === 206 ? startOf(answer, length) : 0;
    const bytes = later === undefined ? answer.body : undefined;
    const info =
      bytes && answer.status === 200 ? { ...infoOf(answer), size: length } : infoOf(answer);
    if (bytes && checksum) await this.#verify(answer, bytes);
    const stored = answer.fields['x-amz-checksum-crc64nvme'];
    return { info, range: { start, end: start + length }, bytes, stored };
  }

  /** Checks bytes, and returns their checksum. */
  async #verify(answer: Answer, bytes: Uint8Array): Promise<string | undefined> {
    const { checksum, key } = this.#wanted;
    if (checksum === undefined) return undefined;
    const text = answer.fields[CHECKSUM] ?? '';
    const expected = text.startsWith(`${checksum}=`)
      ? text.slice(checksum.length + 1)
      : answer.fields[`x-amz-checksum-${checksum}`];
    if (expected === undefined)
      throw new ObjectError('NotImplemented', { detail: `the server sends no ${checksum}`, key });
    const actual = await checksumOf(checksum, bytes);
    checkSame(checksum, expected, actual, key);
    return actual;
  }

  #fieldsOf({ start, end }: Range, { info }: Found): Record<string, string> {
    return { range: `bytes=${start}-${end - 1}`, 'if-match': info.etag };
  }

  #checkPiece(answer: Answer, length: number): Answer {
    if (answer.status !== 206) throw errorOf(answer, this.#wanted.key);
    if (lengthIn(answer.fields[LENGTH] ?? String(answer.body.length)) === length) return answer;
    throw new ObjectError('InternalError', { detail: 'the answer has another length' });
  }

  /** Gets a piece into memory that the fabric reaches. */
  async #intoMemory(found: Found, range: Range, part: MemoryPart): Promise<string | undefined> {
    const fabric = this.#way.fabric as NonNullable<Way['fabric']>;
    const fields = this.#fieldsOf(range, found);
    const answer = await fabric.offering(part, 'write', (offer) =>
      this.#send({ ...fields, ...offer }),
    );
    this.#checkPiece(answer, part.length);
    return this.#wanted.checksum && this.#verify(answer, part.bytes);
  }

  /** Gets a piece by HTTP. */
  async #inBody(found: Found, range: Range): Promise<[Uint8Array, string | undefined]> {
    const answer = await this.#send(this.#fieldsOf(range, found));
    this.#checkPiece(answer, range.end - range.start);
    return [answer.body, await this.#verify(answer, answer.body)];
  }

  /**
   * The pieces in order. Some are on their way meanwhile. `take` gets the bytes of each as soon as they have arrived, and
   * their position, and copies those that must stay: their memory may be that of others afterwards, however long the
   * program waits.
   */
  async *pieces<T>(found: Found, take: Take<T>): AsyncGenerator<T, undefined> {
    if (found.bytes) {
      if (found.bytes.length > 0) yield take(found.bytes, 0, true);
      return undefined;
    }
    const { fabric } = this.#way;
    const crc = new CombinedCrc();
    const coming: Promise<Piece<T>>[] = [];
    const ranges = rangesOf(found.range, fabric?.pool.size ?? PIECE);
    const leaving = new FirstAbort([this.#wanted.signal]);
    const ask = () => {
      const next = ranges.next();
      if (next.done) return;
      const piece = this.#piece(found, next.value, take, leaving.signal);
      piece.catch(() => {}); // thrown in its turn
      coming.push(piece);
    };
    try {
      for (let i = 0; i < AT_ONCE; i++) ask();
      for (let piece = coming.shift(); piece !== undefined; piece = coming.shift()) {
        const { taken, checksum, length } = await piece;
        if (checksum && this.#wanted.checksum === 'crc64nvme') crc.add(checksum, length);
        yield taken;
        ask();
      }
    } finally {
      leaving.end(); // pieces that wait for a buffer
      await Promise.allSettled(coming);
    }
    this.checkStored(found, crc);
    return undefined;
  }

  /** Compares all pieces with what a PUT has stored. */
  checkStored({ stored, range, info }: Found, crc: CombinedCrc): void {
    const isWhole = range.start === 0 && range.end === info.size;
    if (this.#wanted.checksum === 'crc64nvme' && stored !== undefined && isWhole)
      checkSame('crc64nvme', stored, crc.text, this.#wanted.key);
  }

  /** @param leaving ends the wait for a buffer. */
  async #piece<T>(
    found: Found,
    range: Range,
    take: Take<T>,
    leaving: AbortSignal,
  ): Promise<Piece<T>> {
    const { fabric } = this.#way;
    const at = range.start - found.range.start;
    const length = range.end - range.start;
    if (fabric === undefined) {
      const [bytes, checksum] = await this.#inBody(found, range);
      return { taken: take(bytes, at, true), checksum, length };
    }
    const lease = await this.#connection.acquire(fabric.pool, length, this.#way, leaving);
    try {
      const checksum = await this.#intoMemory(found, range, lease);
      return { taken: take(lease.bytes, at, false), checksum, length };
    } finally {
      lease.release();
    }
  }

  /** Gets all bytes into memory of the fabric. */
  async into(found: Found, part: MemoryPart): Promise<void> {
    const length = found.range.end - found.range.start;
    checkRoom(length, part.length);
    if (found.bytes) return void part.bytes.set(found.bytes);
    if (this.#way.fabric === undefined) {
      await this.copy(found, part.bytes);
      return;
    }
    const crc = new CombinedCrc();
    for (const range of rangesOf(found.range, WINDOW)) {
      const at = range.start - found.range.start;
      const piece = part.slice(at, at + range.end - range.start);
      const checksum = await this.#intoMemory(found, range, piece);
      if (checksum && this.#wanted.checksum === 'crc64nvme') crc.add(checksum, piece.length);
    }
    this.checkStored(found, crc);
  }

  /** Gets all bytes into other memory. @param room its bytes, when the call was made. @returns the bytes. */
  async copy(found: Found, into: Uint8Array, room = into.length): Promise<Uint8Array> {
    const length = found.range.end - found.range.start;
    checkRoom(length, room);
    const pieces = this.pieces(found, (bytes, at) => {
      checkStays('options.into', into, room);
      into.set(bytes, at);
    });
    for await (const _ of pieces);
    checkStays('options.into', into, room);
    return into.subarray(0, length);
  }
}

const WINDOW = 64 * 1024 * 1024; // bytes whose memory is offered at once

/**
 * Takes the bytes of a piece.
 *
 * @param at where they begin.
 * @param isOwn whether their memory is used for nothing else.
 */
type Take<T> = (bytes: Uint8Array, at: number, isOwn: boolean) => T;

interface Piece<T> {
  readonly taken: T;
  readonly checksum: string | undefined;
  /** Bytes. */
  readonly length: number;
}

function checkRoom(length: number, room: number): void {
  if (length > room)
    throw outOfRange('options.into', `at least the ${length} bytes of the object`, room);
}

function startOf({ fields }: Answer, length: number): number {
  const [, start, end] = /^bytes (\d+)-(\d+)\//.exec(fields['content-range'] ?? '') ?? [];
  if (Number(end) - Number(start) + 1 === length) return Number(start);
  throw new ObjectError('InternalError', { detail: 'the answer has another range' });
}

function* rangesOf({ start, end }: Range, length: number): Generator<Range> {
  for (let at = start; at < end; at += length) yield { start: at, end: Math.min(at + length, end) };
}

/** The memory that a program gives. Undefined for bytes that no engine has registered. */
export function partOf(memory: unknown): MemoryPart | undefined {
  if (isInstance(memory, TransferMemory)) return memory.slice();
  return isInstance(memory, MemoryPart) ? memory : undefined;
}

/** Whether the host can write to memory. */
export const isOfHost = (part: MemoryPart): boolean =>
  part.contiguous && part.memory.device === undefined;

/** Refuses checksums of memory that the host cannot read. */
export function checkReadable(part: MemoryPart | undefined, checksum: unknown): void {
  if (part && checksum !== undefined && !isOfHost(part))
    throw invalidArgValue('options.checksum', 'needs memory that is contiguous and of the host');
}
