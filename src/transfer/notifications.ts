import { Arrivals, Reader } from '../base/arrivals.js';
import type { RemoteEngine } from './remote-engine.js';

/** A message from another engine. */
export interface Notification {
  readonly bytes: Uint8Array;
  /**
   * The sender, if this engine knows it: by engine.peer(), or as a member of a directory that both have joined. A member is
   * known from the moment that its join() has resolved, unless the directory cannot be reached.
   */
  readonly from: RemoteEngine | undefined;
  /** The identity of the sender's engine. */
  readonly id: string;
}

/** A message that was not read yet. */
export class Arrived implements Notification {
  readonly bytes: Uint8Array;
  readonly from: RemoteEngine | undefined;
  readonly id: string;
  readonly #wasRead: () => void;

  constructor(bytes: Uint8Array, from: RemoteEngine | undefined, id: string, wasRead: () => void) {
    this.bytes = bytes;
    this.from = from;
    this.id = id;
    this.#wasRead = wasRead;
  }

  static read(message: Arrived): void {
    message.#wasRead();
  }
}

/** The messages that arrive at an engine, for `for await`. */
export class Notifications {
  readonly #arrivals: Arrivals<Arrived>;
  #received = 0;
  #dropped = 0;

  /** @param waits is called when a reader starts (1) or stops (-1) waiting. */
  constructor(waits: (change: number) => void) {
    this.#arrivals = new Arrivals({ waits, taken: Arrived.read });
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

  arrived(message: Arrived): void {
    this.#received += 1;
    this.#arrivals.push(message);
  }

  /** Counts messages that are dropped because `waiting` messages wait. */
  drop(count: number, waiting: number): void {
    this.#received += count;
    const isFirst = this.#dropped === 0;
    this.#dropped += count;
    if (!isFirst) return;
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
