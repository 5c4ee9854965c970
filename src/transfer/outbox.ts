import { Fifo } from '../base/fifo.js';
import { errnoOf, TransferError } from './errors.js';
import type { RemoteEngine } from './remote-engine.js';

// The most numbers from the oldest message that is not confirmed to the newest that is sent. The peer
// remembers which of 4096 numbers it has seen.
const WINDOW = 1024;
const CONFIRMATION_TIMEOUT = 30_000; // ms without a confirmation

/** The statuses with which a peer confirms messages. */
export const Taken = {
  /** The peer has taken the messages with these numbers. */
  Some: 0,
  /** The peer forgets this engine, and confirms nothing any more. */
  Last: 1,
  /** The peer's engine was closed. */
  Closed: 2,
} as const;

interface Outgoing {
  readonly peer: RemoteEngine;
  readonly bytes: Uint8Array;
  /** Whether the provider has delivered the message. */
  delivered: boolean;
  resolve(): void;
  reject(error: TransferError): void;
}

/** Makes the error of a message. */
export type Failure = (status: number, detail: string, ambiguous: boolean) => TransferError;

const failureOf: Failure = (status, detail, ambiguous) =>
  new TransferError(status, ambiguous, { detail });

/** Passes a message to the native side. When the provider has delivered it, delivered() is called. */
export type Post = (peer: RemoteEngine, bytes: Uint8Array, sequence: number) => void;

/**
 * The messages to an engine: those in flight, and those that wait until the peer has confirmed earlier ones.
 * A peer that does not know this engine cannot confirm messages. For such a peer, the delivery by the provider
 * counts as the confirmation.
 */
export class Outbox {
  readonly #post: Post;
  readonly #waits: (change: number) => void;
  readonly #failure: Failure;
  readonly #waiting = new Fifo<Outgoing>();
  readonly #sent = new Map<number, Outgoing>(); // in the order of their numbers
  #sequence = 0;
  #confirms = false;
  #progressAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param waits is called when messages start (1) or stop (-1) waiting. */
  constructor(post: Post, waits: (change: number) => void, failure: Failure = failureOf) {
    this.#post = post;
    this.#waits = waits;
    this.#failure = failure;
  }

  /** Resolves when the peer has taken the message. */
  send(peer: RemoteEngine, bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#begin();
      const hasRoom = this.#waiting.length === 0 && this.#hasRoom();
      // The native side copies the bytes that it gets.
      const kept = hasRoom ? bytes : Uint8Array.from(bytes);
      const message = { peer, bytes: kept, delivered: false, resolve, reject };
      if (hasRoom) this.#pass(message);
      else this.#waiting.add(message);
    });
  }

  /** The provider has delivered a message, or could not deliver it. */
  delivered(sequence: number, status: number, detail: string): void {
    const message = this.#sent.get(sequence);
    if (message === undefined) return;
    message.delivered = true;
    if (status === 0 && this.#confirms) return;
    this.#sent.delete(sequence);
    if (status === 0) message.resolve();
    else {
      message.reject(this.#failure(status, detail, true));
      // No rail reaches the peer.
      this.#failWaiting(status, detail);
    }
    this.#progress();
  }

  /** The peer has taken messages, or confirms no more messages. */
  taken(status: number, numbers: Iterable<number>): void {
    this.#confirms = status === Taken.Some;
    for (const sequence of numbers) {
      this.#sent.get(sequence)?.resolve();
      this.#sent.delete(sequence);
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

  /** Rejects the messages that are not sent yet. No more messages are sent. */
  stop(code: Parameters<typeof errnoOf>[0], detail: string): void {
    this.#failWaiting(errnoOf(code), detail);
  }

  /** Rejects all messages. */
  fail(code: Parameters<typeof errnoOf>[0], detail: string): void {
    const errno = errnoOf(code);
    for (const { reject } of this.#sent.values()) reject(this.#failure(errno, detail, true));
    this.#sent.clear();
    this.#failWaiting(errno, detail);
    this.#end();
  }

  #failWaiting(status: number, detail: string): void {
    for (const { reject } of this.#waiting.takeAll()) reject(this.#failure(status, detail, false));
  }

  #resolveDelivered(): void {
    for (const [sequence, message] of this.#sent) {
      if (!message.delivered) continue;
      this.#sent.delete(sequence);
      message.resolve();
    }
  }

  #hasRoom(): boolean {
    const [oldest] = this.#sent.keys();
    return oldest === undefined || (this.#sequence - oldest) >>> 0 < WINDOW - 1;
  }

  #pass(message: Outgoing): void {
    this.#sequence = (this.#sequence + 1) >>> 0;
    this.#sent.set(this.#sequence, message);
    this.#post(message.peer, message.bytes, this.#sequence);
  }

  #progress(): void {
    this.#progressAt = performance.now();
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      this.#pass(this.#waiting.take() as Outgoing);
    }
    if (this.#sent.size === 0) this.#end();
  }

  #begin(): void {
    if (this.#timer !== undefined) return;
    this.#waits(1);
    this.#progressAt = performance.now();
    this.#watch(CONFIRMATION_TIMEOUT);
  }

  #end(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waits(-1);
  }

  #watch(delay: number): void {
    this.#timer = setTimeout(() => {
      const left = this.#progressAt + CONFIRMATION_TIMEOUT - performance.now();
      if (left > 0) this.#watch(left);
      else
        this.fail(
          'FI_ETIMEDOUT',
          'the peer takes no messages: does it read engine.notifications()?',
        );
    }, delay).unref(); // the engine keeps the event loop alive
  }
}
