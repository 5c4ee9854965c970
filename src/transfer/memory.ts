import type { Readable, Writable } from 'node:stream';
import { cancellable } from '../base/cancellation.js';
import { checkInteger, checkOptions, namesOf } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidState, outOfRange } from '../base/errors.js';
import { type Handle, native } from '../contract/native.js';
import type { HeldDeviceMemory } from '../memory/device-memory.js';
import type { MemoryRegion } from '../memory/memory-region.js';
import type { MemoryLease } from './lease.js';
import type { Offer, OfferOptions } from './offer.js';
import { onePiece, type Pages, type Pieces, piecesOfPages, slicePieces } from './pieces.js';
import type { RegisteredMemory } from './registration.js';
import type { SharedFile } from './same-host.js';
import { readableOf, type StreamedMemory, writableOf } from './streams/memory-streams.js';

const OF_PART = uncloneable(
  'a MemoryPart belongs to its engine: send the token of part.offer(), or part.bytes',
);

const OF_MEMORY = uncloneable(
  'TransferMemory belongs to its engine: send the token of memory.offer(), or memory.bytes',
);

/** The calls of an engine that its memory uses. */
export interface MemoryOwner {
  readonly engine: Handle<'TransferEngine'>;
  offer(part: MemoryPart, options: OfferOptions): Promise<Offer>;
  forget(memory: TransferMemory): Promise<void>;
}

/** A part of memory. Transfers move parts. */
export class MemoryPart {
  /** @internal */
  readonly uncloneable = OF_PART;
  readonly memory: TransferMemory;
  /** Bytes. */
  readonly length: number;
  /** @internal */
  readonly pieces: Pieces;
  readonly #lease: MemoryLease | undefined;

  /** @internal */
  constructor(memory: TransferMemory, pieces: Pieces, length: number, lease?: MemoryLease) {
    this.memory = memory;
    this.pieces = pieces;
    this.length = length;
    this.#lease = lease;
  }

  /** @internal The lease of the memory. */
  get lease(): MemoryLease | undefined {
    return this.#lease;
  }

  /** @internal Throws ERR_CLOSED if the memory may not be used any more. */
  checkOpen(): void {
    if (this.memory.closed) throw closed('the memory');
    this.#checkLease();
  }

  #checkLease(): void {
    if (this.lease?.closed) throw closed('the lease of the memory');
  }

  /** Whether the part is one range of its memory, not a list of pages. */
  get contiguous(): boolean {
    return this.pieces.length === 2;
  }

  /**
   * The bytes of the part.
   *
   * @throws Error ERR_INVALID_STATE if the part is not contiguous, or if the memory is on a device. For a
   * part that is not contiguous, use `memory.bytes`. Error ERR_CLOSED after the release of its lease.
   */
  get bytes(): Uint8Array {
    this.#checkLease();
    if (!this.contiguous) throw invalidState('the pages of this part are not contiguous');
    const offset = this.pieces[0] as number;
    return this.memory.bytes.subarray(offset, offset + this.length);
  }

  /**
   * The bytes [start, end) of this part. In a part of pages, offsets count in the order of the pages.
   *
   * @throws RangeError ERR_OUT_OF_RANGE if the range is empty or not within this part.
   */
  slice(start = 0, end = this.length): MemoryPart {
    checkRange(start, end, this.length);
    const pieces = slicePieces(this.pieces, start, end);
    return new MemoryPart(this.memory, pieces, end - start, this.lease);
  }

  /**
   * A stream of the bytes [start, end) of this part. Its parts are views of the memory, so the bytes must stay as they
   * are until the stream and its reader have ended.
   *
   * @throws RangeError ERR_OUT_OF_RANGE. Error ERR_INVALID_STATE for memory of a device. Error ERR_CLOSED.
   */
  readable(range: StreamRange = {}): Readable {
    const { start, end } = checkOptions('range', range, RANGE);
    this.checkOpen();
    return readableOf(streamed(this.slice(start, end)));
  }

  /**
   * A stream that copies what is written to it into the bytes [start, end) of this part. It fails with a RangeError if
   * there are more bytes.
   *
   * @throws as readable() does.
   */
  writable(range: StreamRange = {}): Writable {
    const { start, end } = checkOptions('range', range, RANGE);
    this.checkOpen();
    return writableOf(streamed(this.slice(start, end)));
  }

  /**
   * Grants a peer one transfer into this part, or from it. The peer needs the offer's token.
   *
   * @throws FabricError with the code of fi_mr_reg(3). TypeError, RangeError for invalid options.
   */
  offer(options: OfferOptions): Promise<Offer> {
    return cancellable(() => this.memory.owner.offer(this, options));
  }
}

/** The bytes [start, end) of memory. */
export interface StreamRange {
  /** Bytes. If omitted, 0. */
  readonly start?: number | undefined;
  /** Bytes. If omitted, the end of the memory. */
  readonly end?: number | undefined;
}

const RANGE = namesOf<StreamRange>({ start: 1, end: 1 });

/** @internal The bytes of a part, for a stream. */
export const streamed = (part: MemoryPart): StreamedMemory => ({
  bytes: part.memory.bytes,
  pieces: part.pieces,
  length: part.length,
});

function checkRange(start: number, end: number, length: number): void {
  checkInteger('start', start, 0, length);
  if (start === end) {
    throw outOfRange('end', 'greater than start: a transfer has at least one byte', end);
  }
  checkInteger('end', end, start + 1, length);
}

/** Memory that transfers use. It is registered once on each rail, until it is closed. */
export class TransferMemory {
  /** @internal */
  readonly uncloneable = OF_MEMORY;
  /** Bytes. */
  readonly length: number;
  /** Milliseconds that the registration took, by rail. Null where the memory is not registered. */
  readonly registration: readonly (number | null)[];
  /**
   * The NUMA node of the memory. Null if the node is unknown, or if the memory is on several nodes. NICs of
   * other nodes transfer only the data for which the NICs of this node have no room.
   */
  readonly numaNode: number | null;
  /** @internal */
  readonly owner: MemoryOwner;
  /** @internal */
  readonly region: MemoryRegion;
  /** @internal The handles of the regions, by rail. 0 where the memory is not registered. */
  readonly handles: Uint32Array;
  /** @internal */
  readonly pieces: Pieces;
  /** @internal The file that peers of this host can map. */
  readonly file: SharedFile | undefined;
  /** @internal Memory of a device. */
  readonly device: HeldDeviceMemory | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(owner: MemoryOwner, { regions, took, file, device }: RegisteredMemory) {
    this.owner = owner;
    this.file = file;
    this.device = device;
    this.region = regions.find((region) => region !== undefined) as MemoryRegion;
    this.registration = took;
    const node = device === undefined ? native.transferNumaNode(this.region.bytes) : -1;
    this.numaNode = node < 0 ? null : node;
    this.length = this.region.length;
    this.pieces = onePiece(0, this.length);
    this.handles = Uint32Array.from(regions, (region) => region?.memoryHandle ?? 0);
  }

  /**
   * The bytes of the memory.
   *
   * @throws Error ERR_INVALID_STATE if the memory is on a device.
   */
  get bytes(): Uint8Array {
    return this.region.bytes;
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * The bytes [start, end) of the memory.
   *
   * @throws RangeError ERR_OUT_OF_RANGE if the range is empty or not within the memory.
   */
  slice(start = 0, end = this.length): MemoryPart {
    checkRange(start, end, this.length);
    return new MemoryPart(this, onePiece(start, end - start), end - start);
  }

  /**
   * The part that consists of these pages, in this order: for example the blocks of a cache, or the rows of a
   * table.
   *
   * @throws RangeError ERR_OUT_OF_RANGE if a page is not within the memory.
   */
  pages(pages: Pages): MemoryPart {
    const pieces = piecesOfPages('pages', pages, this.length);
    return new MemoryPart(this, pieces, pages.indices.length * pages.size);
  }

  /** A stream of the bytes of the memory. See {@link MemoryPart.readable}. */
  readable(range: StreamRange = {}): Readable {
    return this.slice().readable(range);
  }

  /** A stream into the memory. See {@link MemoryPart.writable}. */
  writable(range: StreamRange = {}): Writable {
    return this.slice().writable(range);
  }

  /** Offers the whole memory. See {@link MemoryPart.offer}. */
  offer(options: OfferOptions): Promise<Offer> {
    return this.slice().offer(options);
  }

  /**
   * Ends the use of the memory, and closes its offers. Transfers of this engine that use it reject with ERR_CLOSED, and
   * `arrived` of their peers with FI_ECONNABORTED. Resolves when no NIC uses the memory and the offers are released.
   */
  close(): Promise<void> {
    this.#closing ??= cancellable(() => this.owner.forget(this));
    return this.#closing;
  }

  /** Closes the memory: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
