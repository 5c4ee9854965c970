import { MemoryPart, type TransferMemory } from './memory.js';
import type { Offer } from './offer.js';
import { OpenOffers } from './open-offers.js';
import { onePiece } from './pieces.js';

/** Memory of a {@link MemoryPool}, until it is released. After release(), it and its slices are refused everywhere. */
export class MemoryLease extends MemoryPart {
  /**
   * Resolves when the lease was released and no transfer and no offer uses its memory any more. Then the pool gives the
   * memory to somebody else.
   */
  readonly released: Promise<void>;
  readonly #offers = new OpenOffers();
  #uses = 1; // of which one is that of the program
  #isClosed = false;
  #unused!: () => void;

  /** @internal */
  constructor(memory: TransferMemory, length: number) {
    super(memory, onePiece(0, length), length);
    this.released = new Promise((resolve) => {
      this.#unused = resolve;
    });
  }

  /** @internal */
  override get lease(): MemoryLease {
    return this;
  }

  /** Whether release() was called. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** @internal Keeps the memory until `ended` resolves. */
  usedUntil(ended: Promise<unknown>): void {
    this.#uses += 1;
    ended.then(this.#end, this.#end);
  }

  /** @internal Ends an offer with the lease. */
  offered(opening: Promise<Offer>): void {
    this.#offers.add(opening);
  }

  readonly #end = (): void => {
    this.#uses -= 1;
    if (this.#uses === 0) this.#unused();
  };

  /**
   * Ends the use of the memory, and closes its offers. Transfers that run continue. Returns `released`. Further calls do
   * nothing more.
   */
  release(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.usedUntil(this.#offers.end('its lease was released'));
      this.#end();
    }
    return this.released;
  }

  /** Releases the lease: `using`. */
  [Symbol.dispose](): void {
    this.release();
  }

  /** Releases the lease, and waits until nothing uses its memory: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
