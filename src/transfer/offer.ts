import { Arrivals, Reader } from '../base/arrivals.js';
import { CallContext } from '../base/async-context.js';
import { uncloneable } from '../base/describe.js';
import { TimeLimit } from '../base/time-limit.js';
import { type Handle, type NativeOffer, native } from '../contract/native.js';
import type { Access, OfferState } from '../diagnostics/transfer-state.js';
import type { Activity } from './activity.js';
import { type Arrival, arrivalOf } from './arrival.js';
import {
  endedBy,
  endedByPeer,
  engineClosed,
  failureWith,
  peerLost,
  type TransferError,
} from './errors.js';
import type { MemoryPart } from './memory.js';
import type { OfferListener } from './native-events.js';
import type { RemoteEngine } from './remote-engine.js';

const UNCLONEABLE = uncloneable('an Offer belongs to its engine: send offer.token');

/** Options of `memory.offer()`. */
export interface OfferOptions {
  /** The operation that the peer may do: `'write'` to the memory, or `'read'` it. */
  readonly access: Access;
  /** The only peer that may use the token. */
  readonly to: RemoteEngine;
  /** Milliseconds until the offer ends. If omitted, 60,000. */
  readonly expires?: number;
  /**
   * The most slices of a transfer whose slices differ from those that the token implies, for example
   * because the data comes from pages. If omitted, the number that the token implies, one for each
   * 16 KiB, and 64 more.
   */
  readonly slices?: number;
  /**
   * Whether the peer may repeat the transfer with transfer.repeat(). Before each repetition, this side must
   * tell the peer that the last transfer has arrived and that the memory may be written again. Read the
   * arrivals with `for await`.
   */
  readonly repeat?: boolean;
}

// Milliseconds from the end of an offer until its keys are withdrawn, if the keys do not stop copies in flight. The
// peer must end its copies within this time. Otherwise it is assumed dead.
const WITHDRAW_DELAY = 2000;

// Milliseconds after the end of an offer within which the peer may report that all bytes had arrived before it.
const ARRIVAL_TIMEOUT = 250;

/** The parameters of a new offer. */
export interface NewOffer extends Required<Omit<OfferOptions, 'slices'>> {
  readonly part: MemoryPart;
  readonly token: string;
}

/**
 * A grant of memory to one peer, for one transfer. It has keys of its own, which become void when it ends.
 */
export class Offer implements AsyncIterable<Arrival> {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** The text that the peer needs. It fits into an HTTP header unless it names many pages. */
  readonly token: string;
  readonly access: Access;
  readonly part: MemoryPart;
  /** The peer that may use the token. */
  readonly to: RemoteEngine;
  /**
   * For a write, resolves once, when every byte has arrived, whatever the order and the rails of the bytes.
   * For a read, resolves when the peer reports that it has every byte.
   *
   * @throws TransferError FI_ECONNABORTED if the peer's transfer fails or is aborted, FI_ECONNRESET if the peer is lost or its
   * engine was closed, FI_ETIMEDOUT if the offer expires, FI_ECANCELED if this side closes the offer, its memory, the peer or the
   * engine; the provider's error if the provider has broken all rails of the memory.
   */
  readonly arrived: Promise<Arrival>;
  /**
   * Resolves when no copy of a byte can be in flight any more, and the peer's keys are void. The
   * memory may then be used for something else. If the peer is lost because nothing comes from it, and this side
   * checks its keys by software, that is when the peer has ended or has answered.
   */
  readonly released: Promise<void>;
  readonly #engine: Handle<'TransferEngine'>;
  readonly #opened: NativeOffer;
  readonly #activity: Activity;
  readonly #repeats: boolean;
  readonly #mayCopy: () => boolean;
  readonly #expiresAt: number;
  #limit: TimeLimit;
  #settle!: { resolve(arrival: Arrival): void; reject(error: unknown): void };
  #release!: () => void;
  readonly #arrivals = new Arrivals<Arrival>();
  readonly #context = new CallContext();
  // Makes the error for calls that wait for an arrival. Set when no more arrivals come.
  #failure: (() => TransferError) | undefined;
  #count = 0; // of arrivals
  #isReleased = false;
  #ending: (() => TransferError) | undefined;

  /** @internal */
  constructor(
    engine: Handle<'TransferEngine'>,
    opened: NativeOffer,
    activity: Activity,
    { part, to, token, access, expires, repeat }: NewOffer,
    mayCopy: () => boolean,
  ) {
    this.#mayCopy = mayCopy;
    this.#engine = engine;
    this.#opened = opened;
    this.part = part;
    this.token = token;
    this.access = access;
    this.to = to;
    this.#activity = activity;
    this.#repeats = repeat;
    this.#expiresAt = performance.now() + expires;
    this.arrived = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.arrived.catch(() => {}); // a caller that waits for it gets the error
    this.released = new Promise((resolve) => {
      this.#release = resolve;
    });
    this.#limit = new TimeLimit(expires, () =>
      this.#end(() => endedBy('expired', 'the offer has expired', true)),
    ).unref();
  }

  /**
   * Ends the offer: the token becomes void, and the keys are withdrawn. A transfer in flight fails. A
   * transfer whose bytes have all arrived succeeds, and close() waits for it: if the peer's transfer has
   * resolved before, `arrived` resolves too. Otherwise `arrived` rejects when the peer has answered,
   * or after 250 ms.
   */
  async close(): Promise<void> {
    return this.end('the offer was closed');
  }

  /**
   * Ends the offer now, and waits for nobody, for example because the peer seems to be dead and the program tries another
   * one: the token becomes void, and `arrived` rejects with FI_ECANCELED, also if the bytes have arrived and only the peer knows it
   * yet. The memory belongs to the peer until `released` resolves. Does nothing after `released`.
   */
  revoke(): void {
    const failure = () => endedBy('closed', 'the offer was revoked', true);
    const isEnding = this.#ending !== undefined && this.#failure === undefined; // by close(), which waits for the peer
    if (this.#void(failure)) this.#giveUp(failure, 0);
    else if (isEnding && !this.#isReleased) this.#giveUp(failure, ARRIVAL_TIMEOUT);
  }

  /** @internal */
  end(why: string): Promise<void> {
    this.#end(() => endedBy('closed', why, true));
    return this.released;
  }

  /** Ends the offer: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #end(failure: () => TransferError): void {
    if (!this.#void(failure)) return;
    this.#limit = new TimeLimit(ARRIVAL_TIMEOUT, () =>
      this.#giveUp(failure, ARRIVAL_TIMEOUT),
    ).unref();
  }

  // The peer is lost, and sends no answer.
  #lost(reason: string): void {
    const failure = () => peerLost(reason, true);
    if (this.#void(failure)) this.#giveUp(failure, 0);
  }

  // Returns false if the offer has ended already.
  #void(failure: () => TransferError): boolean {
    if (this.closed) return false;
    this.#ending = failure;
    this.#limit.clear();
    native.transferRevoke(this.#engine, this.#opened.handle);
    return true;
  }

  /** @param waited the milliseconds since the offer has ended, at least. */
  #giveUp(failure: () => TransferError, waited: number): void {
    this.#limit.clear();
    this.#fail(failure);
    if (this.#opened.fences || this.to.hasLeft) this.#withdraw();
    else this.#withdrawLater(WITHDRAW_DELAY - waited);
  }

  // A peer that goes on after it was stopped has the whole time.
  #withdrawLater(delay: number): void {
    const { mayBeStopped } = this.to;
    this.#limit = new TimeLimit(delay, () => {
      // A peer that cannot be told that the offer has ended may use the token until it expires.
      const mayBegin = this.to.isUnreached && performance.now() < this.#expiresAt;
      if (mayBeStopped || this.to.mayBeStopped || mayBegin || this.#mayCopy())
        this.#withdrawLater(WITHDRAW_DELAY);
      else this.#withdraw();
    }).unref();
  }

  #withdraw(): void {
    native.transferWithdraw(this.#engine, this.#opened.handle);
  }

  /** @internal */
  readonly listener: OfferListener = {
    arrived: (bytes, notification) =>
      this.#context.run(() => this.#arrived(arrivalOf(this.part, bytes, notification))),
    failed: (status) => this.#fail(() => endedByPeer(status)),
    broken: (status, text) => this.#end(() => failureWith(status, text, true)),
    released: () => {
      this.#isReleased = true;
      this.to.opened(-1);
      this.#limit.clear();
      this.#fail(() => endedBy('closed', 'the offer was released', true));
      const failure = this.#count === 0 ? this.#failure?.() : undefined;
      this.#context.run(() => this.#activity.offerReleased(this, failure));
      this.#release();
    },
    lost: (peer, reason) => {
      if (peer === this.to) this.#lost(reason);
    },
    peerClosed: (peer) => {
      if (peer === this.to) this.#end(() => endedBy('closed', 'the peer was closed', true));
    },
    engineClosed: () => {
      this.#ending ??= engineClosed;
    },
    state: () => this.#state(),
  };

  /** Whether the offer has ended: it was closed, it has expired, or its transfer has ended. */
  get closed(): boolean {
    return this.#ending !== undefined || this.#isReleased;
  }

  /** @internal How often all bytes have arrived. */
  get arrivals(): number {
    return this.#count;
  }

  #state(): OfferState {
    return {
      access: this.access,
      peer: this.to.id,
      byteLength: this.part.length,
      repeat: this.#repeats,
      state: this.#ending === undefined ? 'open' : 'ending',
      arrivals: this.#count,
      expiresIn: this.#expiresAt - performance.now(),
    };
  }

  #arrived(arrival: Arrival): void {
    if (this.#failure !== undefined) return; // the last slices of a transfer that has failed
    this.#count += 1;
    this.#activity.offerArrived(this, arrival);
    this.#settle.resolve(arrival);
    this.#arrivals.push(arrival);
  }

  #fail(make: () => TransferError): void {
    if (this.#failure !== undefined) return;
    const failure = once(this.#ending ?? make);
    this.#failure = failure;
    if (this.#count === 0) this.#settle.reject(failure());
    this.#arrivals.endBy(failure);
  }

  /**
   * The arrivals of an offer with `repeat`: one each time that all bytes have arrived. With several
   * iterators, each arrival goes to one of them, in the order of their calls. An arrival waits until an
   * iterator asks for it.
   *
   * @throws TransferError as `arrived` does.
   */
  [Symbol.asyncIterator](): Reader<Arrival> {
    return new Reader(this.#arrivals);
  }
}

/** Returns a function that makes its value at the first call and keeps it. */
function once<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= make();
    return value;
  };
}
