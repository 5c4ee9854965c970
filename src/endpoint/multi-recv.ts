import type { Completion } from '../completion.js';
import type { Engine } from '../engine/engine.js';
import { errorOf } from '../engine/failure.js';
import { Op, OpField } from '../engine/layout.js';
import type { Place } from '../engine/memory.js';
import { Kind, type RequestOwner } from '../engine/requests.js';
import { errnoByCode } from '../error-codes.js';
import type { FabricError } from '../errors.js';
import { native } from '../native.js';
import { isDetached } from '../views.js';
import type { Wait } from '../wait-options.js';
import { Arrivals } from './arrivals.js';
import type { Message } from './messages.js';
import { giveBack, type Receiver, tooLate } from './stream.js';

/** A message in a multi-receive buffer; its bytes stay until the buffer is posted again. */
export interface MultiRecvMessage extends Message {
  /** Bytes from the start of the buffer. */
  readonly offset: number;
}

/** A message that has arrived, somewhere in the buffer. */
interface Arrival {
  readonly completion: Completion;
  readonly arrival: number;
}

const MULTI_RECV = 2 ** 16;

/**
 * A buffer that takes message after message (FI_MULTI_RECV, fi_msg(3)), as an async iterator. It
 * ends when the provider gives the buffer back: when less than FI_OPT_MIN_MULTI_RECV is left of it.
 *
 * It also ends with return(), which a loop calls that is left, and when next() rejects. Then it takes
 * the buffer back, and what has arrived in it, untaken, goes to the next receives of the endpoint.
 */
export class MultiRecv implements AsyncIterableIterator<MultiRecvMessage>, RequestOwner {
  /** @internal Whoever reads messages keeps their endpoint. */
  readonly endpoint: Receiver;
  readonly #engine: Engine;
  readonly #arrivals: Arrivals<Arrival>;
  readonly #bytes: Uint8Array;
  readonly #handle: number;
  readonly #start: number;
  readonly #request: number;
  #released = false;
  #onRelease: (() => void) | undefined;
  #takingBack: Promise<void> | undefined;
  readonly #untaken: Arrival[] = [];

  /** @internal `place` is where `bytes` are. */
  constructor(endpoint: Receiver, bytes: Uint8Array, place: Place, wait: Wait) {
    const { limits } = endpoint;
    this.#arrivals = new Arrivals(wait, tooLate, () => this.#takeBack());
    this.endpoint = endpoint;
    this.#engine = limits.engine;
    this.#bytes = bytes;
    const { submissions } = this.#engine;
    const { handle, offset, length } = place;
    this.#handle = handle;
    this.#start = offset;
    this.#request = this.#engine.begin(Kind.Owner, this);
    const at = submissions.reserve(0);
    const { entries } = submissions;
    entries.put(at, Op.Recv, 0, 0, this.#request, limits.handle, 0, handle, 0, offset, length);
    entries.set64(at, OpField.Flags64, MULTI_RECV);
    submissions.commit();
  }

  /** Whether the provider has given the buffer back. */
  get released(): boolean {
    return this.#released;
  }

  /** @internal */
  completed(_request: number, status: number, word: number): void {
    const { completions } = this.#engine;
    const final = completions.finalAt(word);
    if (status === 0) {
      const completion = completions.at(word);
      const holdsMessage = !final || completion.flags.includes('FI_RECV');
      if (holdsMessage && !(final && completion.length === 0)) {
        this.#arrived({ completion, arrival: completions.arrivalAt(word) });
      }
    } else {
      const failure = completions.failureAt(word);
      if (status !== errnoByCode.FI_ECANCELED) this.#failed(errorOf(failure));
    }
    if (!final) return;
    this.#released = true;
    this.#arrivals.end();
    this.#onRelease?.();
  }

  /** @internal A message is arriving in the buffer: the engine gives it to the next receive. */
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

  /** The next message in the buffer. */
  async next(): Promise<IteratorResult<MultiRecvMessage>> {
    try {
      const taken = await this.#arrivals.take();
      return taken.done ? taken : { value: this.#open(taken.value.completion), done: false };
    } catch (error) {
      await this.#takeBack();
      throw error;
    }
  }

  #open(completion: Completion): MultiRecvMessage {
    const { source, data, length } = completion;
    const offset = completion.offset - this.#start;
    return { bytes: this.#received(offset, length), offset, source, data };
  }

  // A copy, where the buffer was detached meanwhile.
  #received(offset: number, length: number): Uint8Array {
    if (!isDetached(this.#bytes.buffer)) return this.#bytes.subarray(offset, offset + length);
    const { handle } = this.#engine;
    return new Uint8Array(native.memoryRead(handle, this.#handle, this.#start + offset, length));
  }

  /** Takes the buffer back; what has arrived in it goes to the next receives of the endpoint. */
  async return(): Promise<IteratorResult<MultiRecvMessage>> {
    await this.#takeBack();
    return { value: undefined, done: true };
  }

  #takeBack(): Promise<void> {
    this.#takingBack ??= this.#cancel();
    return this.#takingBack;
  }

  async #cancel(): Promise<void> {
    const { values, errors } = this.#arrivals.stop();
    this.#untaken.push(...values);
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

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Takes the buffer back: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
