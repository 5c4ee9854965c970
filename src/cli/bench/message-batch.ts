import type { OperationOptions } from '../../endpoint/target.js';
import type { RegionSlice } from '../../memory-region.js';
import type { Session } from '../fabtests/session.js';

/**
 * Messages that are sent and received again and again: a prepared batch, in which tags count on from
 * run to run where the session's messages have tags.
 */
export class MessageBatch {
  readonly #session: Session;
  readonly #batch: ReturnType<Session['ep']['batch']>;
  readonly #receives: number[] = [];
  readonly #sends: number[] = [];
  // Written anew for every update: an object for each would be garbage.
  readonly #change = { tag: 0 };

  constructor(session: Session) {
    this.#session = session;
    this.#batch = session.ep.batch();
  }

  receive(into: RegionSlice, options?: OperationOptions): this {
    const batch = this.#batch;
    this.#receives.push(
      this.#session.tagged
        ? batch.trecv(into, null, 0, 0, options)
        : batch.recv(into, null, options),
    );
    return this;
  }

  send(from: RegionSlice, options?: OperationOptions): this {
    const { tagged, peer } = this.#session;
    const batch = this.#batch;
    this.#sends.push(
      tagged ? batch.tsend(from, peer, 0, options) : batch.send(from, peer, options),
    );
    return this;
  }

  /** Sends bytes that are copied now: what changes in `from` later does not count. */
  inject(from: RegionSlice): this {
    const { tagged, peer } = this.#session;
    const batch = this.#batch;
    this.#sends.push(tagged ? batch.tinject(from.bytes, peer, 0) : batch.inject(from.bytes, peer));
    return this;
  }

  /** Submits the batch and waits for it, as Patience.run() does. */
  run(): void {
    if (this.#session.tagged) this.#count();
    this.#session.patience.run(this.#batch);
  }

  /** The same, however long it takes. */
  async complete(): Promise<void> {
    if (this.#session.tagged) this.#count();
    await this.#session.patience.complete(this.#batch);
  }

  /** Posts the batch ahead of what it waits for. */
  post(): Promise<void> {
    if (this.#session.tagged) this.#count();
    const posted = this.#batch.submit();
    posted.catch(() => {}); // who waits for it hears of it
    this.#session.domain.progress();
    return posted;
  }

  #count(): void {
    const session = this.#session;
    const change = this.#change;
    for (let i = 0; i < this.#receives.length; i++) {
      change.tag = session.received++;
      this.#batch.update(this.#receives[i] as number, change);
    }
    for (let i = 0; i < this.#sends.length; i++) {
      change.tag = session.sent++;
      this.#batch.update(this.#sends[i] as number, change);
    }
  }

  close(): void {
    if (this.#batch.inFlight === 0) this.#batch.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
