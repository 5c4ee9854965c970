import { Arrivals } from '../base/arrivals.js';
import { uncloneable } from '../base/describe.js';
import { errnoByCode } from '../base/error-codes.js';
import type { FabricError } from '../base/errors.js';
import { isDetached } from '../base/views.js';
import { Op } from '../contract/layout.js';
import { native } from '../contract/native.js';
import type { Completion } from '../engine/completion.js';
import type { Engine } from '../engine/engine.js';
import { errorOf } from '../engine/failure.js';
import type { Location } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import { giveBack, timeoutError } from '../engine/stream.js';
import type { Message } from './messages.js';
import type { CheckedMultiRecvOptions } from './messages-options.js';
import { withReason } from './short-buffer.js';
import type { Receiver } from './target.js';

const UNCLONEABLE = uncloneable(
  'a MultiRecv belongs to its endpoint: send the bytes of each message',
);

/** A message in a multi-receive buffer. */
export interface MultiRecvMessage extends Message {
  /**
   * Memory of its own. With `borrow`, a part of the buffer, valid until the buffer is posted again.
   */
  readonly bytes: Uint8Array;
  /** Offset in the buffer, in bytes. */
  readonly offset: number;
}

/** A message that has arrived, somewhere in the buffer. */
interface Arrival {
  readonly completion: Completion;
  readonly arrival: number;
}

const MULTI_RECV = 2 ** 16;

/**
 * A buffer that receives several messages (FI_MULTI_RECV, fi_msg(3)), as an async iterator. It ends
 * when the provider releases the buffer: when less than FI_OPT_MIN_MULTI_RECV bytes of it are free.
 * efa refuses a shorter buffer.
 * Take its messages before you post the buffer again.
 *
 * It also ends with return(), which a loop calls when it exits early, and when next() rejects. Then
 * the receive is cancelled. Messages that have arrived and were not taken go to the next receives
 * of the endpoint.
 */
export class MultiRecv implements AsyncIterableIterator<MultiRecvMessage> {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** @internal The stream keeps its endpoint alive. */
  readonly endpoint: Receiver;
  readonly #engine: Engine;
  readonly #arrivals: Arrivals<Arrival>;
  readonly #bytes: Uint8Array;
  readonly #borrows: boolean;
  readonly #handle: number;
  readonly #start: number;
  readonly #length: number;
  readonly #request: number;
  #released = false;
  #onRelease: (() => void) | undefined;
  #ending: Promise<void> | undefined;
  readonly #untaken: Arrival[] = [];

  /** @internal `location` is that of `bytes`. */
  constructor(
    endpoint: Receiver,
    bytes: Uint8Array,
    location: Location,
    { wait, borrow }: CheckedMultiRecvOptions,
  ) {
    const { limits } = endpoint;
    this.#borrows = borrow;
    const failed = () => this.#stop();
    this.#arrivals = new Arrivals({ overdue: timeoutError, failed }, wait);
    this.endpoint = endpoint;
    this.#engine = limits.engine;
    this.#bytes = bytes;
    const { submissions } = this.#engine;
    const { handle, offset, length } = location;
    this.#handle = handle;
    this.#start = offset;
    this.#length = length;
    this.#request = this.#engine.begin(Kind.Owner, this);
    const at = submissions.reserve(0);
    const { entries } = submissions;
    entries.begin(at, Op.Recv, this.#request, limits.handle);
    entries.setMemory(at, handle, offset, length);
    entries.setFlags(at, MULTI_RECV);
    submissions.commit();
  }

  /** Whether the provider has released the buffer. */
  get released(): boolean {
    return this.#released;
  }

  /** @internal */
  completed(_request: number, status: number, word: number): void {
    const { completions } = this.#engine;
    const final = completions.finalAt(word);
    if (status === 0) {
      const completion = completions.at(word);
      // The last completion need not be a message: it may only release the buffer.
      if (!final || completion.flags.includes('FI_RECV')) {
        this.#arrived({ completion, arrival: completions.arrivalAt(word) });
      }
    } else {
      const failure = withReason(completions.failureAt(word), this.endpoint, this.#length);
      if (status !== errnoByCode.FI_ECANCELED) this.#failed(errorOf(failure));
    }
    if (final) this.lost();
  }

  /** @internal The buffer is no longer posted. */
  lost(): void {
    this.#released = true;
    this.#arrivals.end();
    this.#onRelease?.();
  }

  /** @internal A message is arriving in the buffer. The engine passes it to the next receive. */
  cancelRefused(): void {
    this.#onRelease?.();
  }

  #arrived(message: Arrival): void {
    if (this.#arrivals.stopped) this.#untaken.push(message);
    else this.#arrivals.push(message);
  }

  #failed(error: FabricError): void {
    if (this.#arrivals.stopped) this.endpoint.receiveQueue.unsolicited(error);
    else this.#arrivals.fail(error);
  }

  /**
   * The next message in the buffer.
   *
   * @throws FabricError FI_ETIMEDOUT after `options.timeout`, FI_EINVAL with efa if the buffer has
   * fewer than FI_OPT_MIN_MULTI_RECV bytes, or another code of fi_cq_readerr(3).
   * @throws AbortError, or the reason of `options.signal`.
   */
  async next(): Promise<IteratorResult<MultiRecvMessage>> {
    try {
      const taken = await this.#arrivals.take();
      return taken.done ? taken : { value: this.#open(taken.value.completion), done: false };
    } catch (error) {
      await this.#stop();
      throw error;
    }
  }

  #open(completion: Completion): MultiRecvMessage {
    const { source, data, length } = completion;
    const offset = completion.offset - this.#start;
    return { bytes: this.#received(offset, length), offset, source, data };
  }

  #received(offset: number, length: number): Uint8Array {
    if (!isDetached(this.#bytes.buffer)) {
      const bytes = this.#bytes.subarray(offset, offset + length);
      return this.#borrows ? bytes : bytes.slice();
    }
    const { handle } = this.#engine;
    return new Uint8Array(native.memoryRead(handle, this.#handle, this.#start + offset, length));
  }

  /** Cancels the receive. Untaken messages go to the next receives of the endpoint. */
  async return(): Promise<IteratorResult<MultiRecvMessage>> {
    await this.#stop();
    return { value: undefined, done: true };
  }

  #stop(): Promise<void> {
    this.#ending ??= this.#cancel();
    return this.#ending;
  }

  async #cancel(): Promise<void> {
    const { values, errors } = this.#arrivals.stop();
    for (const value of values) this.#untaken.push(value);
    for (const error of errors) this.endpoint.receiveQueue.unsolicited(error as FabricError);
    const { limits } = this.endpoint;
    if (!this.#released && !limits.isClosed && this.#engine.open) {
      const released = new Promise<void>((resolve) => {
        this.#onRelease = resolve;
      });
      this.#engine.cancel(this.#request);
      await this.#engine.settled(released);
    }
    if (limits.isClosed || !this.#engine.open) return;
    const messages = this.#untaken.map(({ completion, arrival }) => {
      const { offset } = completion;
      return { completion, arrival, handle: this.#handle, offset, owner: this.#bytes };
    });
    await giveBack(limits, messages);
  }

  /** Returns the stream itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Cancels the receive: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
