import { Trace } from '../base/trace.js';
import type { TransferStats } from '../diagnostics/transfer-state.js';
import type { Queue } from './admission.js';
import type { Arrival } from './arrival.js';
import { type Owner, offerArrived, offerOpen, offerReleased } from './channels.js';
import type { NativeEvents } from './native-events.js';
import type { Notifications } from './notifications.js';
import type { Offer } from './offer.js';
import type { TransferReport } from './report.js';
import { type TransferTrace, tracedTransfers } from './tracing.js';
import type { Transfer } from './transfer.js';

/** Counts the work of an engine, and publishes it to the subscribers of the channels. */
export class Activity {
  readonly #owner: Owner;
  readonly #queue: Queue;
  readonly #events: NativeEvents;
  readonly #notifications: Notifications;
  #done = 0;
  #failed = 0;
  #duration = 0;
  #bytes = 0;
  #arrived = 0;
  #unarrived = 0;
  #released = 0;
  notificationsSent = 0;

  constructor(owner: Owner, queue: Queue, events: NativeEvents, notifications: Notifications) {
    this.#owner = owner;
    this.#queue = queue;
    this.#events = events;
    this.#notifications = notifications;
  }

  /** The trace of a transfer, or undefined if nobody subscribes. */
  traceOf(transfer: Transfer): TransferTrace | undefined {
    if (!tracedTransfers.hasSubscribers) return undefined;
    const { engine } = this.#owner;
    const { access, peer, total: bytes } = transfer;
    return new Trace(tracedTransfers, { engine, transfer, access, peer: peer.id, bytes });
  }

  transferDone(report: TransferReport): void {
    this.#done += 1;
    this.#duration += report.duration;
    this.#bytes += report.byteLength;
  }

  transferFailed(): void {
    this.#failed += 1;
  }

  offerOpened(offer: Offer): void {
    if (offerOpen.hasSubscribers) offerOpen.publish({ engine: this.#owner.engine, offer });
  }

  offerArrived(offer: Offer, arrival: Arrival): void {
    this.#arrived += 1;
    if (offerArrived.hasSubscribers)
      offerArrived.publish({ engine: this.#owner.engine, offer, arrival });
  }

  /** @param error the reason why nothing has arrived; undefined if something has arrived. */
  offerReleased(offer: Offer, error: unknown): void {
    this.#released += 1;
    if (error !== undefined) this.#unarrived += 1;
    if (!offerReleased.hasSubscribers) return;
    offerReleased.publish({
      engine: this.#owner.engine,
      offer,
      ...(error !== undefined && { error }),
    });
  }

  stats(): TransferStats {
    const { received, unread, dropped } = this.#notifications;
    return {
      transfers: {
        running: this.#queue.running,
        waiting: this.#queue.waiting,
        done: this.#done,
        failed: this.#failed,
        duration: this.#duration,
        bytesTransferred: this.#bytes,
      },
      offers: {
        open: this.#events.offers.size,
        arrived: this.#arrived,
        failed: this.#unarrived,
        released: this.#released,
      },
      notifications: { sent: this.notificationsSent, received, unread, dropped },
    };
  }
}
