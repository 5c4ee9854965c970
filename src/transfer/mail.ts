import { TimeLimit } from '../base/time-limit.js';
import { native } from '../contract/native.js';
import { byChannel, type Channel } from './confirmations.js';
import type { NativeEvents } from './native-events.js';
import { Outbox, Taken } from './outbox.js';
import type { PeerContext, RemoteEngine } from './remote-engine.js';

// The most peers, with those that were forgotten, whose numbers of messages are remembered.
const MAX_OUTBOXES = 65_536;
const CLOSED = 'the transfer engine was closed';

export type Outboxes = Readonly<Record<Channel, Outbox>>;

/**
 * The messages that an engine sends, by the identity of the peer. If the engine forgets a peer and knows it again, the
 * numbers of the messages continue.
 */
export class Mail {
  readonly #engine: PeerContext['handle'];
  readonly #events: NativeEvents;
  readonly #outboxes = new Map<bigint, Outboxes>();
  readonly #isPeer: (identity: bigint) => boolean;
  #lastNotification = 0;

  constructor(
    engine: PeerContext['handle'],
    events: NativeEvents,
    isPeer: (identity: bigint) => boolean,
  ) {
    this.#isPeer = isPeer;
    this.#engine = engine;
    this.#events = events;
  }

  to(identity: bigint): Outboxes {
    let outboxes = this.#outboxes.get(identity);
    if (outboxes === undefined) {
      outboxes = byChannel((channel) => this.#outbox(channel));
      this.#outboxes.set(identity, outboxes);
      if (this.#outboxes.size > MAX_OUTBOXES) this.#dropOldest();
    }
    return outboxes;
  }

  #dropOldest(): void {
    for (const identity of this.#outboxes.keys()) {
      if (this.#isPeer(identity)) continue;
      this.#outboxes.delete(identity);
      return;
    }
  }

  #outbox(channel: number): Outbox {
    const events = this.#events;
    const outbox: Outbox = new Outbox(
      (peer, bytes, sequence) => {
        const id = this.#nextNote((status, text) => outbox.delivered(sequence, status, text));
        native.transferNotify(this.#engine, peer.handle, bytes, id, channel, sequence);
      },
      events.waiting,
      (status, detail, ambiguous) => events.failure(status, detail, ambiguous),
    );
    return outbox;
  }

  // The engine's own messages have the number 0.
  #nextNote(ended: (status: number, text: string) => void): number {
    this.#lastNotification = (this.#lastNotification % 0xffff_ffff) + 1;
    this.#events.notifications.set(this.#lastNotification, ended);
    return this.#lastNotification;
  }

  /** A peer has taken packets. */
  taken(from: bigint, status: number, numbers: Uint8Array, channel: number): void {
    const outbox = this.#outboxes.get(from)?.[channel as Channel];
    const { buffer, byteOffset, length } = Uint8Array.from(numbers);
    outbox?.taken(status, new Uint32Array(buffer, byteOffset, length >>> 2));
  }

  /** The engine of a peer was closed. */
  left(identity: bigint): void {
    const outboxes = this.#outboxes.get(identity) ?? {};
    for (const outbox of Object.values<Outbox>(outboxes)) outbox.taken(Taken.Closed, []);
    this.#outboxes.delete(identity); // it does not come back
  }

  /** A peer is lost. */
  lost(identity: bigint, detail: string): void {
    const outboxes = this.#outboxes.get(identity) ?? {};
    for (const outbox of Object.values<Outbox>(outboxes)) outbox.fail('FI_ECONNRESET', detail);
  }

  /** A peer was closed. Its messages that are not confirmed are given up. */
  forget(peer: RemoteEngine): void {
    const outboxes = this.#outboxes.get(peer.identity) ?? {};
    for (const outbox of Object.values<Outbox>(outboxes)) {
      outbox.forget(peer, (ambiguous) =>
        peer.abandoned('the peer was closed before its program took the message', ambiguous),
      );
    }
  }

  /** A peer was closed, and nothing waits for it. */
  release(identity: bigint): void {
    const outboxes = this.#outboxes.get(identity) ?? {};
    for (const outbox of Object.values<Outbox>(outboxes)) outbox.release();
  }

  /** Resolves when all messages to a peer are sent, including the engine's own, or after `timeout` ms. */
  flush(peer: Parameters<typeof native.transferFlush>[1], timeout: number): Promise<void> {
    return new Promise((resolve) => {
      const id = this.#nextNote(() => {
        limit.clear();
        resolve();
      });
      const limit = new TimeLimit(timeout, () => {
        this.#events.notifications.delete(id);
        this.#events.changed();
        resolve();
      });
      native.transferFlush(this.#engine, peer, id);
    });
  }

  /** Called before the engine closes. Confirmations that arrive after this call release no waiting messages. */
  stop(): void {
    for (const outbox of this.#all()) outbox.stop('FI_ECANCELED', CLOSED);
  }

  close(): void {
    for (const outbox of this.#all()) outbox.fail('FI_ECANCELED', CLOSED);
  }

  *#all(): Iterable<Outbox> {
    for (const outboxes of this.#outboxes.values()) yield* Object.values(outboxes);
  }
}
