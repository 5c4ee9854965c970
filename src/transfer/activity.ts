import type { TransferStats } from '../diagnostics/transfer-state.js';
import type { Queue } from './admission.js';
import {
  type Owner,
  offerArrived,
  offerOpen,
  offerReleased,
  transferEnd,
  transferStart,
} from './channels.js';
import type { NativeEvents } from './native-events.js';
import type { Notifications } from './notifications.js';
import type { Arrival, Offer } from './offer.js';
import type { TransferReport } from './report.js';
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

  transferStarted(transfer: Transfer): void {
    if (transferStart.hasSubscribers)
      transferStart.publish({ engine: this.#owner.engine, transfer });
  }

  transferDone(transfer: Transfer, report: TransferReport): void {
    this.#done += 1;
    this.#duration += report.duration;
    this.#bytes += report.byteLength;
    if (transferEnd.hasSubscribers)
      transferEnd.publish({ engine: this.#owner.engine, transfer, report });
  }

  transferFailed(transfer: Transfer, error: unknown): void {
    this.#failed += 1;
    if (!transferEnd.hasSubscribers) return;
    transferEnd.publish({ engine: this.#owner.engine, transfer, report: transfer.report(), error });
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
