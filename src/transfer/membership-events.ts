import { Arrivals, Reader } from '../base/arrivals.js';
import type { RemoteEngine } from './remote-engine.js';

/** An engine has joined the group, or is reached again. */
export interface JoinedEvent {
  readonly type: 'joined';
  readonly peer: RemoteEngine;
}

/** An engine has left the group, has died, or is no longer reached. */
export interface LostEvent {
  readonly type: 'lost';
  readonly peer: RemoteEngine;
  /** The reason as text. If no rail reaches the peer, it is that of the `peer` event of engine.events(). */
  readonly reason: string;
}

/** An event that `membership.events()` yields. */
export type MembershipEvent = JoinedEvent | LostEvent;

// The most events that wait in an iterator. If next() is not called, the iterator keeps the newest ones.
const MAX_WAITING = 1024;

/** Passes each event to every iterator. An iterator begins with the peers of the group. */
export class MembershipEvents {
  readonly #readers = new Set<Arrivals<MembershipEvent>>();
  readonly #waits: (change: number) => void;
  #closed = false;

  /** @param waits is called when calls begin (> 0) or end (< 0) to wait for an event. */
  constructor(waits: (change: number) => void) {
    this.#waits = waits;
  }

  emit(event: MembershipEvent): void {
    for (const reader of this.#readers) {
      reader.push(event);
      if (reader.waiting > MAX_WAITING) reader.takeNow();
    }
  }

  read(peers: Iterable<RemoteEngine>): Reader<MembershipEvent> {
    const events = new Arrivals<MembershipEvent>({ waits: this.#waits });
    for (const peer of peers) events.push({ type: 'joined', peer });
    if (this.#closed) events.end();
    else this.#readers.add(events);
    return new Reader(events, () => this.#readers.delete(events));
  }

  close(): void {
    this.#closed = true;
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }
}
