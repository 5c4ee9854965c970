import { setTimeout as sleep } from 'node:timers/promises';
import { Arrivals } from '../base/arrivals.js';
import { uncloneable } from '../base/describe.js';
import { errnoByCode } from '../base/error-codes.js';
import type { FabricError } from '../base/errors.js';
import type { Peer } from '../base/peer.js';
import { Op } from '../contract/layout.js';
import type { Completion } from '../engine/completion.js';
import type { Engine } from '../engine/engine.js';
import { errorOf, isAbortedBySender } from '../engine/failure.js';
import { type ReceiveBuffer, ReceiveBuffers } from '../engine/receive-buffers.js';
import { Kind } from '../engine/requests.js';
import { giveBack, timeoutError } from '../engine/stream.js';
import type { CheckedMessagesOptions } from './messages-options.js';
import type { Limits, Receiver } from './target.js';

const UNCLONEABLE = uncloneable(
  'a stream of messages belongs to its endpoint: send the bytes of each message',
);

/** A message of a stream. */
export interface Message {
  /**
   * Memory of its own. With `borrow`, valid only until the next message is requested. If the caller
   * calls next() while another call is pending, every message from then on has memory of its own.
   */
  readonly bytes: Uint8Array;
  /** The sender, with FI_SOURCE, if its address has been inserted: the peer to reply to. */
  readonly source: Peer | undefined;
  /** The remote CQ data of the message. */
  readonly data: bigint | undefined;
}

/** A message that has arrived, in its buffer. */
interface Arrival {
  readonly buffer: ReceiveBuffer;
  readonly completion: Completion;
  readonly arrival: number;
}

/**
 * Milliseconds to wait for a message that is arriving in a buffer when its receive is cancelled.
 */
const ARRIVING_MS = 30;

/**
 * Incoming messages as an async iterator. It keeps a set of buffers posted. It posts a buffer again
 * when its message has been copied or, with `borrow`, when the message after it is requested.
 *
 * The stream ends with return(), which a loop calls when it exits early, and when next() rejects.
 * Then it cancels its receives. Messages that have arrived and were not taken go to the next
 * receives of the endpoint, in order: `recv()`, or another stream. A next() rejects after that is
 * done.
 */
export class Messages implements AsyncIterableIterator<Message> {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** @internal The stream keeps its endpoint alive. */
  readonly endpoint: Receiver;
  readonly #engine: Engine;
  readonly #limits: Limits;
  readonly #buffers: ReceiveBuffers;
  readonly #skips: boolean;
  readonly #posted = new Map<number, ReceiveBuffer>();
  // Receives that could not be cancelled because a message was arriving.
  #busy = 0;
  readonly #arrivals: Arrivals<Arrival>;
  // Whether messages are not copied, and the buffer of the last one that was taken.
  #borrows: boolean;
  #current: ReceiveBuffer | undefined;
  #asking = 0; // pending calls of next()
  // No more buffers are posted: the endpoint is closed, or the receives are being cancelled.
  #ended = false;
  #drained: (() => void) | undefined;
  #idle: (() => void) | undefined;
  #ending: Promise<void> | undefined;
  readonly #untaken: Arrival[] = [];

  /** @internal */
  constructor(endpoint: Receiver, { count, size, borrow, skips, wait }: CheckedMessagesOptions) {
    this.endpoint = endpoint;
    this.#skips = skips;
    this.#borrows = borrow;
    const failed = () => this.#stop();
    this.#arrivals = new Arrivals({ overdue: timeoutError, failed }, wait);
    this.#limits = endpoint.limits;
    this.#engine = endpoint.limits.engine;
    this.#buffers = new ReceiveBuffers(this.#engine, count, size);
    for (const buffer of this.#buffers.all) this.#post(buffer);
  }

  #post(buffer: ReceiveBuffer): void {
    if (this.#ended || this.#limits.isClosed) return;
    this.#buffers.ready(buffer);
    const { submissions } = this.#engine;
    const request = this.#engine.begin(Kind.Owner, this);
    this.#posted.set(request, buffer);
    const at = submissions.reserve(0);
    const { entries } = submissions;
    entries.begin(at, Op.Recv, request, this.#limits.handle);
    entries.setMemory(at, buffer.handle, 0, this.#buffers.size);
    submissions.commit();
  }

  /** @internal */
  completed(request: number, status: number, word: number): void {
    const buffer = this.#posted.get(request);
    if (!this.#posted.delete(request)) this.#busy--;
    if (status !== 0) this.#failed(buffer, status, word);
    else if (buffer !== undefined) this.#arrived(buffer, word);
    this.#settled();
  }

  /** @internal */
  lost(request: number): void {
    if (!this.#posted.delete(request)) this.#busy--;
    this.#finish();
    this.#settled();
  }

  // No more messages arrive.
  #finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#arrivals.end();
  }

  #settled(): void {
    if (this.#busy === 0) this.#idle?.();
    if (this.#posted.size > 0) return;
    if (this.#drained !== undefined) this.#drained();
    if (this.#ended && this.#untaken.length === 0) this.#free();
  }

  #arrived(buffer: ReceiveBuffer, word: number): void {
    const { completions } = this.#engine;
    const completion = completions.at(word);
    if (completion.isWrite) {
      this.#post(buffer);
      return;
    }
    const message = { buffer, completion, arrival: completions.arrivalAt(word) };
    // Checks `stopped` and not #ending, which is set later: with the manual driver, messages
    // arrive during that call.
    if (this.#arrivals.stopped) this.#untaken.push(message);
    else this.#arrivals.push(message);
  }

  #failed(buffer: ReceiveBuffer | undefined, status: number, word: number): void {
    const failure = this.#engine.completions.failureAt(word);
    const aborted = isAbortedBySender(failure);
    const cancelled = (status === errnoByCode.FI_ECANCELED && !aborted) || this.#limits.isClosed;
    if (this.#ended) {
      if (!cancelled && !failure.broken) this.endpoint.receiveQueue.unsolicited(errorOf(failure));
    } else if (cancelled) {
      this.#finish();
    } else {
      const skipped = aborted || (this.#skips && status === errnoByCode.FI_ETRUNC);
      if (skipped) this.endpoint.receiveQueue.unsolicited(errorOf(failure));
      else this.#arrivals.fail(errorOf(failure));
      if (failure.broken) this.#ended = true;
      // After a failed message, the buffer is posted again. A receive that the provider refused
      // would be refused again.
      if (failure.syscall === 'fi_cq_readerr') this.#post(buffer as ReceiveBuffer);
    }
  }

  /** @internal A message is arriving in this buffer. The engine passes it to the next receive. */
  cancelRefused(request: number): void {
    this.#posted.delete(request);
    this.#busy++;
    if (this.#posted.size === 0) this.#drained?.();
  }

  /** @internal Whether no more messages arrive. */
  get ended(): boolean {
    return this.#ended || this.#limits.isClosed;
  }

  #free(): void {
    if (this.#posted.size === 0 && this.#busy === 0) this.#buffers.close();
  }

  /**
   * The next message. With `borrow`, the bytes of the message before it become invalid. If the sender
   * aborts a message (efa of libfabric 2.7), its error goes to `cq.readErrors()`, and the stream continues.
   *
   * @throws FabricError FI_ETRUNC for a message that is longer than a buffer, unless
   * `options.onTruncated` is `'skip'`. The message had `error.len + error.olen` bytes, if the provider
   * reports both, and came from `error.peer`, if it is known: over shm with FI_SOURCE. FI_ETIMEDOUT
   * after `options.timeout`, or another code of fi_cq_readerr(3).
   * @throws AbortError, or the reason of `options.signal`.
   */
  async next(): Promise<IteratorResult<Message>> {
    if (this.#asking > 0) this.#borrows = false; // nobody knows whose message would end
    if (this.#current !== undefined) this.#post(this.#current);
    this.#current = undefined;
    this.#asking++;
    try {
      const taken = await this.#arrivals.take();
      return taken.done ? taken : { value: this.#open(taken.value), done: false };
    } catch (error) {
      await this.#stop();
      throw error;
    } finally {
      this.#asking--;
    }
  }

  #open({ buffer, completion }: Arrival): Message {
    const { source, data, length } = completion;
    const bytes = this.#buffers.received(buffer, length);
    if (this.#borrows) {
      this.#current = buffer;
      return { bytes, source, data };
    }
    const copy = bytes.slice();
    this.#post(buffer);
    return { bytes: copy, source, data };
  }

  /** Cancels the receives. Untaken messages go to the next receives of the endpoint. */
  async return(): Promise<IteratorResult<Message>> {
    await this.#stop();
    return { value: undefined, done: true };
  }

  #stop(): Promise<void> {
    this.#ending ??= this.#cancelAll();
    return this.#ending;
  }

  async #cancelAll(): Promise<void> {
    const { values, errors } = this.#arrivals.stop();
    this.#ended = true;
    for (const value of values) this.#untaken.push(value);
    for (const error of errors) this.endpoint.receiveQueue.unsolicited(error as FabricError);
    if (this.#posted.size > 0 && !this.#limits.isClosed) {
      const drained = new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
      for (const request of this.#posted.keys()) this.#engine.cancel(request);
      await this.#engine.settled(drained);
      await this.#finishBusy();
    }
    const messages = this.#untaken.splice(0).map(({ buffer, completion, arrival }) => {
      return { completion, arrival, handle: buffer.handle, offset: 0, owner: this };
    });
    if (!this.#limits.isClosed) await giveBack(this.#limits, messages);
    this.#free();
  }

  // Messages that are arriving must come before those of the next receives, unless the sender
  // stalls.
  async #finishBusy(): Promise<void> {
    if (this.#busy === 0) return;
    const waiting = new AbortController();
    const late = sleep(ARRIVING_MS, undefined, waiting).catch(() => {});
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    await this.#engine.settled(Promise.race([idle, late]));
    waiting.abort();
  }

  /** Returns the stream itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Cancels the receives: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
