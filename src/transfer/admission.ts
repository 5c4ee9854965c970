import type { TransferMemory } from './memory.js';
import type { RemoteEngine } from './remote-engine.js';

export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A transfer that may have to wait for its turn. */
export interface Waiting {
  begin(): void;
  /** Ends the transfer if it is with a peer that is lost. */
  lost(peer: RemoteEngine, reason: string): void;
  /** Ends the transfer if it is of memory that is closed. */
  memoryClosed(memory: TransferMemory): void;
}

/** The calls with which a transfer waits for its turn and leaves the queue. */
export interface Admission {
  /** Begins the transfer at once, or when it is its turn. */
  enter(transfer: Waiting): void;
  /** Removes a transfer that waits. */
  cancel(transfer: Waiting): void;
  /** A transfer that has begun has ended. */
  leave(): void;
}

/** The transfers of one priority that wait, in order. */
class Line implements Admission {
  readonly #queue: Queue;
  readonly #waiting = new Set<Waiting>();
  // This iterator stays at the first entry. A new iterator would pass over all entries that were taken since the Set
  // was last resized.
  #first = this.#waiting.values();

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  get length(): number {
    return this.#waiting.size;
  }

  enter(transfer: Waiting): void {
    if (!this.#queue.admit(transfer)) this.#waiting.add(transfer);
  }

  cancel(transfer: Waiting): void {
    this.#waiting.delete(transfer);
  }

  leave(): void {
    this.#queue.leave();
  }

  lost(peer: RemoteEngine, reason: string): void {
    for (const transfer of this.#waiting) transfer.lost(peer, reason);
  }

  memoryClosed(memory: TransferMemory): void {
    for (const transfer of this.#waiting) transfer.memoryClosed(memory);
  }

  take(): Waiting | undefined {
    if (this.#waiting.size === 0) return undefined;
    let next = this.#first.next();
    if (next.done) {
      this.#first = this.#waiting.values();
      next = this.#first.next();
    }
    this.#waiting.delete(next.value as Waiting);
    return next.value;
  }
}

/** Lets at most `most` transfers run. The others wait, in order of priority. */
export class Queue {
  readonly #most: number;
  readonly #lines = PRIORITIES.map(() => new Line(this));
  #running = 0;
  #isStarting = false;

  constructor(most: number) {
    this.#most = most;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#lines.reduce((sum, { length }) => sum + length, 0);
  }

  /** Ends the transfers that wait and are with a peer that is lost. */
  lost(peer: RemoteEngine, reason: string): void {
    for (const line of this.#lines) line.lost(peer, reason);
  }

  /** Ends the transfers of memory that wait. */
  memoryClosed(memory: TransferMemory): void {
    for (const line of this.#lines) line.memoryClosed(memory);
  }

  at(priority: Priority): Admission {
    return this.#lines[PRIORITIES.indexOf(priority)] as Line;
  }

  /** Begins a transfer, unless as many as possible run. Returns whether it has begun. */
  admit(transfer: Waiting): boolean {
    if (this.#running >= this.#most) return false;
    this.#running += 1;
    transfer.begin();
    return true;
  }

  /** A transfer has ended. Another one may begin. */
  leave(): void {
    this.#running -= 1;
    this.#startWaiting();
  }

  // A transfer that cannot start leaves at once, and thousands may wait. So leave() within a begin() starts nothing.
  #startWaiting(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    try {
      while (this.#running < this.#most) {
        const transfer = this.#next();
        if (transfer === undefined) return;
        this.admit(transfer);
      }
    } finally {
      this.#isStarting = false;
    }
  }

  #next(): Waiting | undefined {
    for (const line of this.#lines) {
      const transfer = line.take();
      if (transfer !== undefined) return transfer;
    }
    return undefined;
  }
}
