import { withoutContext } from '../base/async-context.js';
import { countAsHandled, isCancellation } from '../base/cancellation.js';
import { Deferred } from '../base/deferred.js';
import { Fifo } from '../base/fifo.js';
import { TimeLimit } from '../base/time-limit.js';
import { errnoOf, TransferError } from './errors.js';
import { Draft, type Packet } from './packet.js';
import type { RemoteEngine } from './remote-engine.js';

// The most numbers from the oldest packet that is not confirmed to the newest that is sent. The peer
// remembers which of 4096 numbers it has seen.
const WINDOW = 1024;
// The most messages in packets that are sent and not confirmed. A packet may exceed it.
const MESSAGES = 4096;
// ms from a delivery until a peer that has confirmed nothing counts as one that cannot. The thread of a peer that can
// answers the first packet at once, unless its machine is busy.
const FIRST_CONFIRMATION = 250;
const CONFIRMATION_TIMEOUT = 30_000; // ms without a confirmation

/** The statuses with which a peer confirms packets. */
export const Taken = {
  /** The peer has taken the packets with these numbers. */
  Some: 0,
  /** The peer forgets this engine, and confirms nothing any more. */
  Last: 1,
  /** The peer's engine was closed. */
  Closed: 2,
} as const;

/** Makes the error of a message. */
export type Failure = (status: number, detail: string, ambiguous: boolean) => TransferError;

const failureOf: Failure = (status, detail, ambiguous) =>
  new TransferError(status, ambiguous, { detail });

/**
 * Passes a packet to the native side, which copies the bytes. When the provider has delivered it, delivered() is
 * called.
 */
export type Post = (peer: RemoteEngine, bytes: Uint8Array, sequence: number) => void;

/**
 * The messages to an engine, in packets: the packet that is being written, those in flight, and those that wait until
 * the peer has confirmed earlier ones. A peer that does not know this engine cannot confirm packets. For such a peer,
 * the delivery by the provider counts as the confirmation, some time after the first one.
 */
export class Outbox {
  readonly #post: Post;
  readonly #waits: (change: number) => void;
  readonly #failure: Failure;
  readonly #draft = new Draft();
  readonly #waiting = new Fifo<Packet>();
  readonly #sent = new Map<number, Packet>(); // in the order of their numbers
  #unconfirmed = 0; // messages in #sent
  #sequence = 0;
  #confirms: boolean | undefined; // undefined: not known yet
  #firstConfirmation: TimeLimit | undefined;
  #progressAt = 0;
  #limit: TimeLimit | undefined;

  /** @param waits is called when messages start (1) or stop (-1) waiting. */
  constructor(post: Post, waits: (change: number) => void, failure: Failure = failureOf) {
    this.#post = post;
    this.#waits = waits;
    this.#failure = failure;
  }

  /** Resolves when the peer has taken the message. The call copies the bytes. */
  send(peer: RemoteEngine, bytes: Uint8Array): Promise<void> {
    const sending = new Deferred<void>();
    this.#begin();
    peer.used(1);
    if (!this.#draft.takes(peer, bytes.length)) this.flush();
    if (this.#draft.isEmpty) queueMicrotask(this.#flushLater);
    this.#draft.add(peer, bytes, sending);
    return sending.promise;
  }

  readonly #flushLater = () => this.flush();

  /** Sends the messages of this turn of the event loop. */
  flush(): void {
    if (this.#draft.isEmpty) return;
    const waits = this.#waiting.length > 0 || !this.#hasRoom();
    const packet = this.#draft.end(waits);
    if (waits) this.#waiting.add(packet);
    else this.#pass(packet);
  }

  /** The provider has delivered a packet, or could not deliver it. */
  delivered(sequence: number, status: number, detail: string): void {
    const packet = this.#sent.get(sequence);
    if (packet === undefined) return;
    packet.delivered = true;
    if (status === 0 && this.#confirms === undefined) {
      this.#firstConfirmation ??= withoutContext(() =>
        new TimeLimit(FIRST_CONFIRMATION, this.#confirmsNothing).unref(),
      );
      return;
    }
    if (status === 0 && this.#confirms) return;
    this.#remove(sequence, packet);
    if (status === 0) resolve(packet);
    else {
      this.#reject(packet, status, detail, true);
      // No rail reaches the peer.
      this.#failWaiting(status, detail);
    }
    this.#progress();
  }

  readonly #confirmsNothing = () => {
    if (this.#confirms !== undefined) return;
    this.#confirms = false;
    this.#resolveDelivered();
    this.#progress();
  };

  /** The peer has taken packets, or confirms no more packets. */
  taken(status: number, numbers: Iterable<number>): void {
    this.#confirms = status === Taken.Some;
    this.#firstConfirmation?.clear();
    for (const sequence of numbers) {
      const packet = this.#sent.get(sequence);
      if (packet === undefined) continue;
      this.#remove(sequence, packet);
      resolve(packet);
    }
    if (status === Taken.Last) this.#resolveDelivered();
    if (status === Taken.Closed) {
      this.fail(
        'FI_ECONNRESET',
        "the peer's engine was closed before its program took the message",
      );
    }
    this.#progress();
  }

  /** Rejects the messages that must wait for earlier ones. No more messages are sent. */
  stop(code: Parameters<typeof errnoOf>[0], detail: string): void {
    this.flush();
    this.#failWaiting(errnoOf(code), detail);
  }

  /** Rejects all messages. */
  fail(code: Parameters<typeof errnoOf>[0], detail: string): void {
    const errno = errnoOf(code);
    const sent = [...this.#sent.values()];
    this.#sent.clear();
    this.#unconfirmed = 0;
    for (const packet of sent) this.#reject(packet, errno, detail, true);
    this.#failWaiting(errno, detail);
    this.#end();
  }

  /** Rejects the messages to a peer that is closed. Those to the same engine, opened again, go on. */
  forget(peer: RemoteEngine, failure: (ambiguous: boolean) => TransferError): void {
    this.flush();
    for (const [sequence, packet] of this.#sent) {
      if (packet.peer !== peer) continue;
      this.#remove(sequence, packet);
      rejectAll(packet, () => failure(true));
    }
    for (const packet of this.#waiting.takeAll()) {
      if (packet.peer === peer) rejectAll(packet, () => failure(false));
      else this.#waiting.add(packet);
    }
    this.#progress();
  }

  /** Lets the peer go, which was closed. The outbox stays, because the peer may be opened again. */
  release(): void {
    this.#draft.release();
  }

  #failWaiting(status: number, detail: string): void {
    if (!this.#draft.isEmpty) this.#waiting.add(this.#draft.end(false));
    for (const packet of this.#waiting.takeAll()) this.#reject(packet, status, detail, false);
  }

  #reject(packet: Packet, status: number, detail: string, ambiguous: boolean): void {
    rejectAll(packet, () => this.#failure(status, detail, ambiguous));
  }

  #resolveDelivered(): void {
    for (const [sequence, packet] of this.#sent) {
      if (!packet.delivered) continue;
      this.#remove(sequence, packet);
      resolve(packet);
    }
  }

  #remove(sequence: number, packet: Packet): void {
    this.#sent.delete(sequence);
    this.#unconfirmed -= packet.messages.length;
  }

  #hasRoom(): boolean {
    if (this.#unconfirmed >= MESSAGES) return false;
    const [oldest] = this.#sent.keys();
    return oldest === undefined || (this.#sequence - oldest) >>> 0 < WINDOW - 1;
  }

  #pass(packet: Packet): void {
    this.#sequence = (this.#sequence + 1) >>> 0;
    this.#sent.set(this.#sequence, packet);
    this.#unconfirmed += packet.messages.length;
    this.#post(packet.peer, packet.bytes, this.#sequence);
  }

  #progress(): void {
    this.#progressAt = performance.now();
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      this.#pass(this.#waiting.take() as Packet);
    }
    if (this.#sent.size === 0 && this.#draft.isEmpty) this.#end();
  }

  #begin(): void {
    if (this.#limit !== undefined) return;
    this.#waits(1);
    this.#progressAt = performance.now();
    this.#watch(CONFIRMATION_TIMEOUT);
  }

  #end(): void {
    this.#firstConfirmation?.clear();
    this.#firstConfirmation = undefined;
    if (this.#limit === undefined) return;
    this.#limit.clear();
    this.#limit = undefined;
    this.#waits(-1);
  }

  #watch(delay: number): void {
    const expired = () => {
      const left = this.#progressAt + CONFIRMATION_TIMEOUT - performance.now();
      if (left > 0) this.#watch(left);
      else
        this.fail(
          'FI_ETIMEDOUT',
          'the peer takes no messages: does it read engine.notifications()?',
        );
    };
    // The engine keeps the event loop alive.
    this.#limit = withoutContext(() => new TimeLimit(delay, expired).unref());
  }
}

function resolve({ peer, messages }: Packet): void {
  for (const message of messages) message.resolve();
  peer.used(-messages.length);
}

function rejectAll({ peer, messages }: Packet, failure: () => TransferError): void {
  for (const { promise, reject } of messages) {
    const error = failure();
    if (isCancellation(error)) countAsHandled(promise);
    reject(error);
  }
  peer.used(-messages.length);
}
