import type { NativeGrant, NativeOrder, NativeSeries } from '../contract/native.js';
import { errnoOf } from './errors.js';
import type { MemoryPart } from './memory.js';
import { slicePieces } from './pieces.js';
import type { Transfer } from './transfer.js';

/** The calls of an engine that a series uses. */
export interface SeriesOwner {
  /** The number of slices of these pieces of the grant. */
  slices(pieces: Float64Array): number;
  begin(part: MemoryPart, range: NonNullable<NativeOrder['part']>): Transfer;
  conclude(end: Pick<NativeSeries, 'slices' | 'bytes' | 'status'>): void;
}

/**
 * Transfers of consecutive parts of one grant. To the owner of the memory they are one transfer, which ends with
 * conclude().
 */
export class Series {
  /** The bytes of the grant. */
  readonly limit: number;
  readonly #grant: NativeGrant;
  readonly #owner: SeriesOwner;
  readonly #released = new Set<Promise<void>>();
  #bytes = 0;
  #slices = 0;
  #isConcluded = false;

  constructor(grant: NativeGrant, owner: SeriesOwner) {
    this.limit = grant.length;
    this.#grant = grant;
    this.#owner = owner;
  }

  get isConcluded(): boolean {
    return this.#isConcluded;
  }

  /** Begins the transfer of the next `part.length` bytes. */
  next(part: MemoryPart): Transfer {
    const end = this.#bytes + part.length;
    const pieces = slicePieces(this.#grant.pieces, this.#bytes, end);
    const transfer = this.#owner.begin(part, { pieces, slices: this.#slices });
    this.#bytes = end;
    this.#slices += this.#owner.slices(pieces);
    const { released } = transfer;
    this.#released.add(released);
    released.then(() => this.#released.delete(released));
    return transfer;
  }

  /** Tells the owner of the memory that all bytes were transferred, or that no more are. Waits for transfers in flight. */
  async conclude(isComplete: boolean): Promise<void> {
    if (this.#isConcluded) return;
    this.#isConcluded = true;
    await Promise.all(this.#released);
    const status = isComplete ? 0 : errnoOf('FI_ECANCELED');
    this.#owner.conclude({ slices: this.#slices, bytes: this.#bytes, status });
  }
}
