import { Arrivals, Reader } from '../base/arrivals.js';
import type { FabricError } from '../base/errors.js';
import type { RailState } from '../diagnostics/transfer-state.js';
import type { RemoteEngine } from './remote-engine.js';

/** The state of a rail has changed. */
export interface RailEvent {
  readonly type: 'rail';
  /** The rail, with its new state. */
  readonly rail: RailState;
  readonly previous: RailState['state'];
  /** If this engine knows the peer: the peer that this rail does not reach, and that another rail reaches. */
  readonly peer: RemoteEngine | undefined;
  /** The reason as text. For `'failing'` and `'broken'` it is the provider's text. Empty for `'up'`. */
  readonly reason: string;
}

/**
 * The provider has reported an error that belongs to no transfer: a handshake has failed, or the error is
 * the cause for which a peer's transfer makes no progress.
 */
export interface RailErrorEvent {
  readonly type: 'error';
  readonly rail: RailState;
  readonly error: FabricError;
}

/** The state of a peer has changed. */
export interface PeerEvent {
  readonly type: 'peer';
  readonly peer: RemoteEngine;
  /** The new state of the peer. */
  readonly state: RemoteEngine['state'];
  /** The reason as text, with the provider's text if the provider has reported an error. */
  readonly reason: string;
}

/** The machine has no EFA, and the engine uses another provider. */
export interface FallbackEvent {
  readonly type: 'fallback';
  /** `'tcp'` or `'shm'`. */
  readonly provider: string;
}

/** An event that `engine.events()` yields. */
export type EngineEvent = RailEvent | RailErrorEvent | PeerEvent | FallbackEvent;

// The most events that wait in an iterator. If next() is not called, the iterator keeps the newest ones.
const MAX_WAITING = 1024;

/** Passes each event to every iterator. */
export class EngineEvents {
  readonly #readers = new Set<Arrivals<EngineEvent>>();
  #first: EngineEvent | undefined;
  #closed = false;

  /** Every iterator begins with this event. */
  begin(event: EngineEvent): void {
    this.#first = event;
  }

  emit(event: EngineEvent): void {
    for (const reader of this.#readers) {
      reader.push(event);
      if (reader.waiting > MAX_WAITING) reader.takeNow();
    }
  }

  get observed(): boolean {
    return this.#readers.size > 0;
  }

  close(): void {
    this.#closed = true;
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }

  read(): Reader<EngineEvent> {
    const events = new Arrivals<EngineEvent>();
    if (this.#first !== undefined) events.push(this.#first);
    if (this.#closed) events.end();
    else this.#readers.add(events);
    return new Reader(events, () => this.#readers.delete(events));
  }
}
