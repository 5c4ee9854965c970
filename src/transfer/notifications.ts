import { Arrivals, Reader } from '../base/arrivals.js';
import type { RemoteEngine } from './remote-engine.js';

/** A message from another engine. */
export interface Notification {
  readonly bytes: Uint8Array;
  /** The sender, if this engine knows it: engine.peer(). */
  readonly from: RemoteEngine | undefined;
  /** The identity of the sender's engine. */
  readonly id: string;
}

/** The messages that arrive at an engine, for `for await`. */
export class Notifications {
  readonly #arrivals: Arrivals<Notification>;
  readonly #wasRead = new WeakMap<Notification, () => void>();
  #received = 0;
  #dropped = 0;

  /** @param waits is called when a reader starts (1) or stops (-1) waiting. */
  constructor(waits: (change: number) => void) {
    this.#arrivals = new Arrivals({
      waits,
      taken: (notification) => this.#wasRead.get(notification)?.(),
    });
  }

  get received(): number {
    return this.#received;
  }

  get unread(): number {
    return this.#arrivals.waiting;
  }

  /** Messages that were dropped because too many were unread. */
  get dropped(): number {
    return this.#dropped;
  }

  arrived(notification: Notification, wasRead: () => void): void {
    this.#received += 1;
    this.#wasRead.set(notification, wasRead);
    this.#arrivals.push(notification);
  }

  /** Counts a message that is dropped because `waiting` messages wait. */
  drop(waiting: number): void {
    this.#received += 1;
    this.#dropped += 1;
    if (this.#dropped > 1) return;
    process.emitWarning(
      `a transfer engine drops messages: ${waiting} wait, and nobody reads engine.notifications()`,
      'LibfabricWarning',
    );
  }

  close(): void {
    this.#arrivals.end();
  }

  read(): Reader<Notification> {
    return new Reader(this.#arrivals);
  }
}
