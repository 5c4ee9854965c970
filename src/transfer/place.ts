import { checkInteger } from '../checks.js';
import type { MemoryRegion } from '../memory-region.js';
import type { Offer, OfferOptions } from './offer.js';
import { onePiece, type Pages, type Pieces, piecesOfPages } from './pieces.js';

/** What an engine does for its places. */
export interface PlaceOwner {
  offer(part: Part, options: OfferOptions): Promise<Offer>;
  forget(place: Place): Promise<void>;
}

/** A part of a place: what a transfer moves. */
export class Part {
  readonly place: Place;
  /** Bytes. */
  readonly length: number;
  /** @internal */
  readonly pieces: Pieces;

  /** @internal */
  constructor(place: Place, pieces: Pieces, length: number) {
    this.place = place;
    this.pieces = pieces;
    this.length = length;
  }

  /**
   * Grants a peer one transfer into this part, or out of it. The peer needs the offer's token.
   *
   * @throws FabricError with the code of fi_mr_reg(3). TypeError, RangeError for invalid options.
   */
  offer(options: OfferOptions): Promise<Offer> {
    return this.place.owner.offer(this, options);
  }
}

/** Memory that transfers use: registered once on each rail, until it is closed. */
export class Place {
  /** Bytes. */
  readonly length: number;
  /** Milliseconds that the registration took, by rail. */
  readonly registration: readonly number[];
  /** @internal */
  readonly owner: PlaceOwner;
  /** @internal By rail. */
  readonly regions: readonly MemoryRegion[];
  /** @internal The handles of the regions, by rail. */
  readonly memories: Uint32Array;
  /** @internal */
  readonly pieces: Pieces;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    owner: PlaceOwner,
    regions: readonly MemoryRegion[],
    registration: readonly number[],
  ) {
    const first = regions[0] as MemoryRegion;
    this.owner = owner;
    this.regions = regions;
    this.registration = registration;
    this.length = first.length;
    this.pieces = onePiece(0, first.length);
    this.memories = Uint32Array.from(regions, ({ memoryHandle }) => memoryHandle);
  }

  /** The memory. */
  get bytes(): Uint8Array {
    return (this.regions[0] as MemoryRegion).bytes;
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * A contiguous part.
   *
   * @throws RangeError ERR_OUT_OF_RANGE if it is not within the place.
   */
  slice(offset: number, length: number = this.length - offset): Part {
    checkInteger('offset', offset, 0, this.length);
    checkInteger('length', length, 1, this.length - offset);
    return new Part(this, onePiece(offset, length), length);
  }

  /**
   * Pages, in this order: the blocks of a cache, the rows of a table.
   *
   * @throws RangeError ERR_OUT_OF_RANGE if a page is not within the place.
   */
  pages(pages: Pages): Part {
    const pieces = piecesOfPages('pages', pages, this.length);
    return new Part(this, pieces, pages.indices.length * pages.size);
  }

  /** Offers the whole place. See {@link Part.offer}. */
  offer(options: OfferOptions): Promise<Offer> {
    return this.owner.offer(this.slice(0), options);
  }

  /** Ends the use of the memory. Resolves when no transfer and no NIC uses it. */
  close(): Promise<void> {
    this.#closing ??= this.owner.forget(this);
    return this.#closing;
  }

  /** Closes the place: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
