import { asCancellation } from '../base/cancellation.js';
import { throwLater } from '../base/throw-later.js';
import type { TransferEvents } from '../contract/native.js';
import type { OfferState, TransferState } from '../diagnostics/transfer-state.js';
import { errnoOf, failureWith, type TransferError } from './errors.js';
import type { TransferMemory } from './memory.js';
import type { RemoteEngine } from './remote-engine.js';

/** The kinds of events of native/transfer/events.h. */
export const EventKind = {
  TransferEnded: 1,
  TransferFreed: 2,
  TransferDone: 3,
  OfferArrived: 4,
  OfferFailed: 5,
  OfferReleased: 6,
  Notification: 7,
  NotificationSent: 8,
  RailState: 9,
  Flushed: 10,
  OfferBroken: 11,
  Taken: 12,
  PeerCut: 13,
  PeerHeard: 14,
  TransferMoved: 15,
} as const;

/** The events of a transfer in flight. */
export interface TransferListener {
  finished(status: number, text: string): void;
  freed(): void;
  moved(): void;
  /** This side has closed memory. */
  memoryClosed(memory: TransferMemory): void;
  state(): TransferState;
}

/** The events of an open offer. */
export interface OfferListener {
  arrived(bytes: number, notification: Uint8Array | undefined): void;
  failed(status: number): void;
  broken(status: number, text: string): void;
  released(): void;
  /** A peer is lost, or its entry in the directory has ended. */
  lost(peer: RemoteEngine, reason: string): void;
  /** The program closes a peer. */
  peerClosed(peer: RemoteEngine): void;
  /** The engine closes, and ends the offer. */
  engineClosed(): void;
  state(): OfferState;
}

/** The events of the engine itself. */
export interface EngineListener {
  notification(from: bigint, sequence: number, bytes: Uint8Array, channel: number): void;
  taken(from: bigint, status: number, numbers: Uint8Array, channel: number): void;
  idle(idle: boolean): void;
  flushed(): void;
  /** No rail reaches a peer because of an error of the provider. Undefined: a rail reaches it again. */
  cut(identity: bigint, error: string | undefined): void;
  /** Something has come from a peer that was silent or lost. */
  heard(identity: bigint): void;
  rail(index: number, state: number, reason: string, peer: bigint): void;
}

/** Passes the events of the native side to the objects that wait for them. */
export class NativeEvents {
  readonly transfers = new Map<number, TransferListener>();
  readonly offers = new Map<number, OfferListener>();
  readonly notifications = new Map<number, (status: number, text: string) => void>();
  /** Whether the engine is closing. It then cancels everything in flight. */
  isClosing = false;
  readonly #listener: EngineListener;
  // The number of calls that wait for a notification or at a barrier.
  #waiting = 0;
  #keepsLoop = true;
  #idle = true;

  constructor(listener: EngineListener) {
    this.#listener = listener;
  }

  /** Sets whether the event loop stays alive while something is in flight. */
  keepLoop(on: boolean): void {
    this.#keepsLoop = on;
    this.changed();
  }

  /** Must be called after a change of the tables, because the event loop stays alive while something is in flight. */
  changed(): void {
    const inFlight = this.transfers.size + this.offers.size + this.notifications.size;
    const idle = !this.#keepsLoop || inFlight + this.#waiting === 0;
    if (idle === this.#idle) return;
    this.#idle = idle;
    this.#listener.idle(idle);
  }

  /** The error of a transfer or a message that the native side has ended. */
  failure(status: number, text: string, ambiguous: boolean): TransferError {
    const error = failureWith(status, text === '' ? undefined : text, ambiguous);
    const isCancelled = this.isClosing && status === errnoOf('FI_ECANCELED');
    return isCancelled ? asCancellation(error) : error;
  }

  /** Ends the transfers, offers and messages that the native side does not end any more. */
  endAll(status: number, text: string): void {
    for (const transfer of this.transfers.values()) {
      transfer.finished(status, text);
      transfer.freed();
    }
    for (const offer of this.offers.values()) offer.released();
    for (const sent of this.notifications.values()) sent(status, text);
    for (const table of [this.transfers, this.offers, this.notifications]) table.clear();
  }

  /** Must be called when calls start (> 0) or stop (< 0) waiting for messages of peers. */
  readonly waiting = (change: number): void => {
    this.#waiting += change;
    this.changed();
  };

  readonly deliver: TransferEvents = (kind, id, status, text, from, bytes) => {
    try {
      this.#deliver(kind, id, status, text, from, bytes);
    } catch (error) {
      throwLater(error);
    }
    this.changed();
  };

  #deliver(...[kind, id, status, text, from, bytes]: Parameters<TransferEvents>): void {
    switch (kind) {
      case EventKind.TransferEnded:
        this.transfers.get(id)?.finished(status, text as string);
        break;
      case EventKind.TransferFreed:
        this.#freed(id);
        break;
      case EventKind.TransferDone:
        this.transfers.get(id)?.finished(status, text as string);
        this.#freed(id);
        break;
      case EventKind.TransferMoved:
        this.transfers.get(id)?.moved();
        break;
      case EventKind.OfferArrived:
        this.offers.get(id)?.arrived(bytes, text as Uint8Array | undefined);
        break;
      case EventKind.OfferFailed:
        this.offers.get(id)?.failed(status);
        break;
      case EventKind.OfferBroken:
        this.offers.get(id)?.broken(status, text as string);
        break;
      case EventKind.OfferReleased:
        this.#released(id);
        break;
      case EventKind.Notification:
        this.#listener.notification(
          from as bigint,
          id,
          (text as Uint8Array | undefined) ?? new Uint8Array(),
          bytes,
        );
        break;
      case EventKind.Taken:
        this.#listener.taken(
          from as bigint,
          status,
          (text as Uint8Array | undefined) ?? new Uint8Array(),
          id,
        );
        break;
      case EventKind.NotificationSent:
        this.#sent(id, status, text as string);
        break;
      case EventKind.RailState:
        this.#listener.rail(id, status, text as string, from as bigint);
        break;
      case EventKind.PeerCut:
        this.#listener.cut(from as bigint, status === 0 ? undefined : (text as string));
        break;
      case EventKind.PeerHeard:
        this.#listener.heard(from as bigint);
        break;
      case EventKind.Flushed:
        this.#listener.flushed();
    }
  }

  #released(id: number): void {
    const offer = this.offers.get(id);
    this.offers.delete(id);
    offer?.released();
  }

  #sent(id: number, status: number, text: string): void {
    const sent = this.notifications.get(id);
    this.notifications.delete(id);
    sent?.(status, text);
  }

  #freed(id: number): void {
    const transfer = this.transfers.get(id);
    this.transfers.delete(id);
    transfer?.freed();
  }
}
