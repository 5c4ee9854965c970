// How a client gets the bytes of an object: those of a short one with the answer, those of a long one in pieces.
import { FirstAbort } from '../base/abort-signals.js';
import { invalidArgValue } from '../base/errors.js';
import { isInstance } from '../base/objects.js';
import { MemoryPart, TransferMemory } from '../transfer/memory.js';
import { CombinedCrc, checkSame } from './checksums.js';
import type { Connection, Way } from './connection.js';
import { type Found, GetRequests, PIECE, type Room, roomOf, type Wanted } from './get-requests.js';
import { checkStays } from './request-body.js';
import type { Range } from './versions.js';

const AT_ONCE = 3; // pieces

/** A GET in progress. */
export class Getting {
  readonly #connection: Connection;
  readonly #way: Way;
  readonly #wanted: Wanted;
  readonly #requests: GetRequests;

  constructor(connection: Connection, way: Way, wanted: Wanted) {
    this.#connection = connection;
    this.#way = way;
    this.#wanted = wanted;
    this.#requests = new GetRequests(connection, way, wanted);
  }

  /** Asks for the object, as GetRequests.find() does. */
  find(room: Room | undefined, inlined?: number): Promise<Found> {
    return this.#requests.find(room, inlined);
  }

  /**
   * The pieces in order. Some are on their way meanwhile. `take` gets the bytes of each as soon as they have arrived, and
   * their position, and copies those that must stay: their memory may be that of others afterwards, however long the
   * program waits.
   */
  async *pieces<T>(found: Found, take: Take<T>): AsyncGenerator<T, undefined> {
    const { signal } = this.#wanted;
    if (found.bytes) {
      if (found.bytes.length > 0) yield take(found.bytes, 0, true);
      this.#connection.check(signal);
      return undefined;
    }
    if (found.arriving) return yield* this.#arriving(found.arriving, take);
    const { fabric } = this.#way;
    const crc = new CombinedCrc();
    const coming: Promise<Piece<T>>[] = [];
    const ranges = rangesOf(found, fabric?.pool.size ?? PIECE);
    const leaving = new FirstAbort([signal]);
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
        this.#connection.check(signal);
        if (checksum && this.#wanted.checksum === 'crc64nvme') crc.add(checksum, length);
        yield taken;
        this.#connection.check(signal);
        ask();
      }
    } finally {
      leaving.end(); // pieces that wait for a buffer
      await Promise.allSettled(coming);
    }
    this.#checkStored(found, crc);
    return undefined;
  }

  /** The pieces of an answer as they arrive. */
  async *#arriving<T>(arriving: AsyncIterable<Uint8Array>, take: Take<T>) {
    const { signal } = this.#wanted;
    let at = 0;
    const pieces = arriving[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { value, done } = await this.#connection.unlessClosed(pieces.next(), signal);
        this.#connection.check(signal);
        if (done) return undefined;
        yield take(value, at, true);
        at += value.length;
      }
    } finally {
      await pieces.return?.();
    }
  }

  /** Compares all pieces with the CRC-64/NVME that a PUT has stored. */
  #checkStored({ head, start, length, size }: Found, crc: CombinedCrc): void {
    const stored = head.fields['x-amz-checksum-crc64nvme'];
    const isWhole = start === 0 && length === size;
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
    const at = range.start - found.start;
    const length = range.end - range.start;
    if (fabric === undefined) {
      const [bytes, checksum] = await this.#requests.inBody(found, range);
      return { taken: take(bytes, at, true), checksum, length };
    }
    const lease = await this.#connection.acquire(fabric.pool, length, this.#way, leaving);
    try {
      const checksum = await this.#requests.intoMemory(found, range, lease);
      return { taken: take(lease.bytes, at, false), checksum, length };
    } finally {
      lease.release();
    }
  }

  /** Gets all bytes into memory of the fabric. */
  async into(found: Found, part: MemoryPart): Promise<void> {
    checkRoom(found.length, part.length);
    if (found.bytes) return void part.bytes.set(found.bytes);
    if (this.#way.fabric === undefined) {
      await this.copy(found, part.bytes);
      return;
    }
    const crc = new CombinedCrc();
    for (const range of rangesOf(found, WINDOW)) {
      const at = range.start - found.start;
      const piece = part.slice(at, at + range.end - range.start);
      const checksum = await this.#requests.intoMemory(found, range, piece);
      if (checksum && this.#wanted.checksum === 'crc64nvme') crc.add(checksum, piece.length);
    }
    this.#checkStored(found, crc);
  }

  /** Gets all bytes into other memory. @param room its bytes, when the call was made. @returns the bytes. */
  async copy(found: Found, into: Uint8Array, room = into.length): Promise<Uint8Array> {
    checkRoom(found.length, room);
    const pieces = this.pieces(found, (bytes, at) => {
      checkStays('options.into', into, room);
      into.set(bytes, at);
    });
    for await (const _ of pieces);
    checkStays('options.into', into, room);
    return into.subarray(0, found.length);
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
  if (length > room) throw roomOf(room).tooLong(length);
}

function* rangesOf({ start, length }: Found, most: number): Generator<Range> {
  const end = start + length;
  for (let at = start; at < end; at += most) yield { start: at, end: Math.min(at + most, end) };
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
