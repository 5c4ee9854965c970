import type { RoundOptions } from '../../../../endpoint/batch.js';
import type { OperationOptions } from '../../../../endpoint/target.js';
import type { RegionSlice } from '../../../../memory/memory-region.js';
import type { Session } from '../../common/session.js';

/**
 * A prepared batch of messages that are sent and received repeatedly. If the session's messages
 * have tags, the tags increase from submission to submission.
 */
export class MessageBatch {
  readonly #session: Session;
  readonly #batch: ReturnType<Session['ep']['batch']>;
  readonly #receives: number[] = [];
  readonly #sends: number[] = [];
  // The first tags of the next submission.
  #received = -1;
  #sent = -1;

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

  /** Injects bytes. They are copied now, so later changes of `from` have no effect. */
  inject(from: RegionSlice): this {
    const { tagged, peer } = this.#session;
    const batch = this.#batch;
    this.#sends.push(tagged ? batch.tinject(from.bytes, peer, 0) : batch.inject(from.bytes, peer));
    return this;
  }

  /** Submits the batch and waits for it. */
  async complete(): Promise<void> {
    if (this.#session.tagged) this.#count();
    await this.#session.waiter.complete(this.#batch);
  }

  /** Runs rounds of the batch: Waiter.rounds(). */
  async rounds(options: RoundOptions): Promise<number> {
    const session = this.#session;
    if (!session.tagged) return session.waiter.rounds(this.#batch, options);
    this.#renumber();
    const done = await session.waiter.rounds(this.#batch, options);
    this.#add(done);
    return done;
  }

  /** Posts the batch before the peer sends its messages. */
  post(): Promise<void> {
    if (this.#session.tagged) this.#count();
    const posted = this.#batch.submit();
    posted.catch(() => {}); // the caller that awaits it handles the error
    this.#session.domain.progress();
    return posted;
  }

  #count(): void {
    this.#renumber();
    this.#add(1);
  }

  #add(submissions: number): void {
    const session = this.#session;
    session.received = this.#received += submissions * this.#receives.length;
    session.sent = this.#sent += submissions * this.#sends.length;
  }

  /** Resets the tags if other operations have used some. Each submission then raises them. */
  #renumber(): void {
    const { received, sent } = this.#session;
    if (received === this.#received && sent === this.#sent) return;
    this.#received = received;
    this.#sent = sent;
    this.#countFrom(this.#received, this.#receives);
    this.#countFrom(this.#sent, this.#sends);
  }

  #countFrom(tag: number, operations: readonly number[]): void {
    const tagStep = operations.length;
    operations.forEach((index, i) => {
      this.#batch.update(index, { tag: tag + i, tagStep });
    });
  }

  close(): void {
    if (this.#batch.inFlight === 0) this.#batch.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
