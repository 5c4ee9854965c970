import type { Completion } from '../completion.js';
import { overdue } from '../engine/deadlines.js';
import type { Engine } from '../engine/engine.js';
import { errorOf } from '../engine/failure.js';
import { Op, OpField } from '../engine/layout.js';
import { Kind, type RequestOwner } from '../engine/requests.js';
import { type Slot, Slots } from '../engine/slots.js';
import { native } from '../native.js';
import type { Peer } from '../peer.js';
import { isDetached } from '../views.js';
import type { Wait } from '../wait-options.js';
import { Arrivals } from './arrivals.js';
import type { Limits } from './target.js';

/** A message of a stream. Its bytes are good until the next message is asked for. */
export interface Message {
  readonly bytes: Uint8Array;
  /** Who sent it, with FI_SOURCE. */
  readonly source: Peer | undefined;
  /** The remote CQ data that came with it. */
  readonly data: bigint | undefined;
}

/** How a stream of messages is waited for. */
export interface StreamOptions {
  /** Ends the stream: what waits for a message, or asks for one, rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds that next() waits for a message; FI_ETIMEDOUT afterwards. The stream goes on, and
   * takes its buffers back when return() is called, as a loop that ends by itself does.
   */
  readonly timeout?: number;
}

/** The buffers of a stream of messages, and how it is waited for. */
export interface MessagesOptions extends StreamOptions {
  /** Buffers that are kept posted; 64 when left out. */
  readonly count?: number;
  /** Bytes of each buffer, which is the longest message; 4096 when left out. */
  readonly size?: number;
}

interface Receiver {
  readonly limits: Limits;
}

const ECANCELED = 125;
const tooLate = (milliseconds: number) => errorOf(overdue('fi_cq_read', milliseconds));

/**
 * Incoming messages as an async iterator. It keeps a set of buffers posted; a buffer is posted again
 * when the message after its own is asked for.
 */
export class Messages implements AsyncIterableIterator<Message>, RequestOwner {
  /** @internal Whoever reads messages keeps their endpoint. */
  readonly endpoint: Receiver;
  readonly #engine: Engine;
  readonly #limits: Limits;
  readonly #slots: Slots;
  readonly #posted = new Map<number, Slot>();
  readonly #arrivals: Arrivals<{ slot: Slot; completion: Completion }>;
  #current: Slot | undefined;
  #ended = false;
  #refused = 0;
  #drained: (() => void) | undefined;
  #takingBack: Promise<void> | undefined;

  /** @internal */
  constructor(endpoint: Receiver, count: number, size: number, wait: Wait) {
    this.endpoint = endpoint;
    this.#arrivals = new Arrivals(wait, tooLate, () => this.#takeBack());
    this.#limits = endpoint.limits;
    this.#engine = endpoint.limits.engine;
    this.#slots = new Slots(this.#engine, count, size);
    for (const slot of this.#slots.all) this.#post(slot);
  }

  #post(slot: Slot): void {
    this.#slots.ready(slot);
    const { submissions } = this.#engine;
    const request = this.#engine.begin(Kind.Owner, this);
    this.#posted.set(request, slot);
    const at = submissions.reserve(0);
    const { handle } = slot;
    const { size } = this.#slots;
    const endpoint = this.#limits.handle;
    submissions.entries.put(at, Op.Recv, 0, 0, request, endpoint, 0, handle, 0, 0, size);
    submissions.commit();
  }

  /** @internal */
  completed(request: number, status: number, word: number): void {
    const slot = this.#posted.get(request) as Slot;
    this.#posted.delete(request);
    if (this.#posted.size === 0) this.#drained?.();
    if (status === 0) {
      this.#arrivals.push({ slot, completion: this.#engine.completions.at(word) });
      return;
    }
    const failure = this.#engine.completions.failureAt(word);
    if (status === ECANCELED || this.#limits.isClosed) {
      if (!this.#ended) this.#arrivals.end();
      this.#ended = true;
    }
    if (this.#ended) {
      if (this.#posted.size === 0) this.#slots.close();
      return;
    }
    this.#arrivals.fail(errorOf(failure));
    // A message that failed leaves room for the next; a receive that was refused would be again.
    if (failure.syscall === 'fi_cq_readerr') this.#post(slot);
  }

  /** @internal The provider can't give this buffer back: it stays posted until the endpoint goes. */
  cancelRefused(): void {
    if (++this.#refused >= this.#posted.size) this.#drained?.();
  }

  /** The next message; the bytes of the one before are no longer good. */
  async next(): Promise<IteratorResult<Message>> {
    if (this.#current !== undefined && !this.#ended && !this.#limits.isClosed) {
      this.#post(this.#current);
    }
    this.#current = undefined;
    const taken = await this.#arrivals.take();
    if (taken.done) return taken;
    const { slot, completion } = taken.value;
    this.#current = slot;
    const { source, data } = completion;
    return {
      value: { bytes: this.#slots.received(slot, completion.length), source, data },
      done: false,
    };
  }

  /** Takes the buffers back. */
  async return(): Promise<IteratorResult<Message>> {
    this.#arrivals.end();
    await this.#takeBack();
    return { value: undefined, done: true };
  }

  #takeBack(): Promise<void> {
    this.#takingBack ??= this.#cancelAll();
    return this.#takingBack;
  }

  async #cancelAll(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#posted.size === 0) this.#slots.close();
    if (this.#posted.size === 0 || this.#limits.isClosed) return;
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    for (const request of this.#posted.keys()) this.#engine.cancel(request);
    await this.#engine.settled(drained);
    if (this.#posted.size === 0) this.#slots.close();
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Takes the buffers back: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

/** A message in a multi-receive buffer; its bytes stay until the buffer is posted again. */
export interface MultiRecvMessage extends Message {
  /** Bytes from the start of the buffer. */
  readonly offset: number;
}

const MULTI_RECV = 2 ** 16;

/**
 * A buffer that takes message after message (FI_MULTI_RECV, fi_msg(3)), as an async iterator. It
 * ends when the provider gives the buffer back: when less than FI_OPT_MIN_MULTI_RECV is left of it.
 */
export class MultiRecv implements AsyncIterableIterator<MultiRecvMessage>, RequestOwner {
  /** @internal Whoever reads messages keeps their endpoint. */
  readonly endpoint: Receiver;
  readonly #engine: Engine;
  readonly #arrivals: Arrivals<MultiRecvMessage>;
  readonly #bytes: Uint8Array;
  readonly #request: number;
  #released = false;
  #onRelease: (() => void) | undefined;

  /** @internal `bytes` is what was located just before. */
  constructor(endpoint: Receiver, bytes: Uint8Array, wait: Wait) {
    const { limits } = endpoint;
    this.#arrivals = new Arrivals(wait, tooLate, () => this.#takeBack());
    this.endpoint = endpoint;
    this.#engine = limits.engine;
    this.#bytes = bytes;
    const { memory, submissions } = this.#engine;
    const { handle, offset, length } = memory;
    this.#memory = handle;
    this.#start = offset;
    this.#request = this.#engine.begin(Kind.Owner, this);
    const at = submissions.reserve(0);
    const { entries } = submissions;
    entries.put(at, Op.Recv, 0, 0, this.#request, limits.handle, 0, handle, 0, offset, length);
    entries.set64(at, OpField.Flags64, MULTI_RECV);
    submissions.commit();
  }
  readonly #memory: number;
  readonly #start: number;

  /** Whether the provider has given the buffer back. */
  get released(): boolean {
    return this.#released;
  }

  /** @internal */
  completed(_request: number, status: number, word: number): void {
    const final = this.#engine.completions.finalAt(word);
    if (status === 0) {
      const completion = this.#engine.completions.at(word);
      const holdsMessage = !final || completion.flags.includes('FI_RECV');
      if (holdsMessage && !(final && completion.length === 0)) this.#push(completion);
    } else if (status !== ECANCELED) {
      this.#arrivals.fail(errorOf(this.#engine.completions.failureAt(word)));
    }
    if (!final) return;
    this.#released = true;
    this.#arrivals.end();
    this.#onRelease?.();
  }

  /** @internal The provider can't give the buffer back: it stays posted until the endpoint goes. */
  cancelRefused(): void {
    this.#arrivals.end();
    this.#onRelease?.();
  }

  #push(completion: Completion): void {
    const offset = completion.offset - this.#start;
    const { length, source, data } = completion;
    this.#arrivals.push({ bytes: this.#received(completion.offset, length), offset, source, data });
  }

  // A copy, where the buffer was detached meanwhile.
  #received(at: number, length: number): Uint8Array {
    const offset = at - this.#start;
    if (!isDetached(this.#bytes.buffer)) return this.#bytes.subarray(offset, offset + length);
    return new Uint8Array(native.memoryRead(this.#engine.handle, this.#memory, at, length));
  }

  /** The next message in the buffer. */
  next(): Promise<IteratorResult<MultiRecvMessage>> {
    return this.#arrivals.take();
  }

  /** Takes the buffer back. */
  async return(): Promise<IteratorResult<MultiRecvMessage>> {
    await this.#takeBack();
    return { value: undefined, done: true };
  }

  async #takeBack(): Promise<void> {
    if (this.#released || !this.#engine.open) return;
    const released = new Promise<void>((resolve) => {
      this.#onRelease = resolve;
    });
    this.#engine.cancel(this.#request);
    await this.#engine.settled(released);
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Takes the buffers back: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
