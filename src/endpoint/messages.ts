import { setTimeout as sleep } from 'node:timers/promises';
import type { Completion } from '../completion.js';
import type { Engine } from '../engine/engine.js';
import { errorOf } from '../engine/failure.js';
import { Op } from '../engine/layout.js';
import { Kind, type RequestOwner } from '../engine/requests.js';
import { type Slot, Slots } from '../engine/slots.js';
import { errnoByCode } from '../error-codes.js';
import type { FabricError } from '../errors.js';
import type { Peer } from '../peer.js';
import type { Wait } from '../wait-options.js';
import { Arrivals } from './arrivals.js';
import { giveBack, type Receiver, type StreamOptions, tooLate } from './stream.js';
import type { Limits } from './target.js';

/**
 * A message of a stream. Its bytes are good until the next message is asked for. Who asks for several
 * at once, so that one next() is called while another waits, gets bytes of its own with each of them,
 * from then on.
 */
export interface Message {
  readonly bytes: Uint8Array;
  /** Who sent it, with FI_SOURCE. */
  readonly source: Peer | undefined;
  /** The remote CQ data that came with it. */
  readonly data: bigint | undefined;
}

/** The buffers of a stream of messages, and how it is waited for. */
export interface MessagesOptions extends StreamOptions {
  /** Buffers that are kept posted; 64 when left out. */
  readonly count?: number;
  /** Bytes of each buffer, which is the longest message; 4096 when left out. */
  readonly size?: number;
}

/** A message that has arrived, in its slot. */
interface Arrival {
  readonly slot: Slot;
  readonly completion: Completion;
  readonly arrival: number;
}

/** Milliseconds for a message that is arriving in a buffer that is taken back. */
const ARRIVING = 30;

/**
 * Incoming messages as an async iterator. It keeps a set of buffers posted; a buffer is posted again
 * when the message after its own is asked for.
 *
 * The stream ends with return(), which a loop calls that is left, and when next() rejects: its time
 * is over, its signal aborts, or a message has failed, as one that is longer than a buffer does with
 * FI_ETRUNC. Then it takes its buffers back, and what has arrived in them, untaken, goes to the next
 * receives of the endpoint, in order: `recv()`, another stream. A next() rejects when that is done.
 */
export class Messages implements AsyncIterableIterator<Message>, RequestOwner {
  /** @internal Whoever reads messages keeps their endpoint. */
  readonly endpoint: Receiver;
  readonly #engine: Engine;
  readonly #limits: Limits;
  readonly #slots: Slots;
  readonly #posted = new Map<number, Slot>();
  // Requests whose buffers a message was arriving in when they were to be taken back.
  #busy = 0;
  readonly #arrivals: Arrivals<Arrival>;
  // The slot of the message that was taken last.
  #current: Slot | undefined;
  // Calls of next() that wait, and whether there was ever more than one.
  #asking = 0;
  #shared = false;
  // Buffers are no longer posted: the endpoint is closed, or they are being taken back.
  #ended = false;
  #drained: (() => void) | undefined;
  #idle: (() => void) | undefined;
  #takingBack: Promise<void> | undefined;
  readonly #untaken: Arrival[] = [];

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
    if (this.#ended || this.#limits.isClosed) return;
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
    const slot = this.#posted.get(request);
    if (!this.#posted.delete(request)) this.#busy--;
    if (status !== 0) this.#failed(slot, status, word);
    else if (slot !== undefined) this.#arrived(slot, word);
    if (this.#busy === 0) this.#idle?.();
    if (this.#posted.size > 0) return;
    if (this.#drained !== undefined) this.#drained();
    if (this.#ended && this.#untaken.length === 0) this.#free();
  }

  #arrived(slot: Slot, word: number): void {
    const { completions } = this.#engine;
    const completion = completions.at(word);
    const message = { slot, completion, arrival: completions.arrivalAt(word) };
    // Before #takingBack is set: with the manual driver messages arrive while it is called.
    if (this.#arrivals.stopped) this.#untaken.push(message);
    else this.#arrivals.push(message);
  }

  #failed(slot: Slot | undefined, status: number, word: number): void {
    const failure = this.#engine.completions.failureAt(word);
    const cancelled = status === errnoByCode.FI_ECANCELED || this.#limits.isClosed;
    if (this.#ended) {
      if (!cancelled && !failure.broken) this.endpoint.receiveQueue.unsolicited(errorOf(failure));
    } else if (cancelled) {
      this.#ended = true;
      this.#arrivals.end();
    } else {
      this.#arrivals.fail(errorOf(failure));
      if (failure.broken) this.#ended = true;
      // A message that failed leaves room for the next; a receive that was refused would be again.
      if (failure.syscall === 'fi_cq_readerr') this.#post(slot as Slot);
    }
  }

  /** @internal A message is arriving in this buffer: the engine gives it to the next receive. */
  cancelRefused(request: number): void {
    this.#posted.delete(request);
    this.#busy++;
    if (this.#posted.size === 0) this.#drained?.();
  }

  #free(): void {
    if (this.#posted.size === 0 && this.#busy === 0) this.#slots.close();
  }

  /** The next message; the bytes of the one before are no longer good. */
  async next(): Promise<IteratorResult<Message>> {
    if (this.#asking > 0) this.#shared = true;
    if (this.#current !== undefined) this.#post(this.#current);
    this.#current = undefined;
    this.#asking++;
    try {
      const taken = await this.#arrivals.take();
      return taken.done ? taken : { value: this.#open(taken.value), done: false };
    } catch (error) {
      await this.#takeBack();
      throw error;
    } finally {
      this.#asking--;
    }
  }

  #open({ slot, completion }: Arrival): Message {
    const { source, data, length } = completion;
    const bytes = this.#slots.received(slot, length);
    if (!this.#shared) {
      this.#current = slot;
      return { bytes, source, data };
    }
    const copy = bytes.slice();
    this.#post(slot);
    return { bytes: copy, source, data };
  }

  /** Takes the buffers back; what has arrived in them goes to the next receives of the endpoint. */
  async return(): Promise<IteratorResult<Message>> {
    await this.#takeBack();
    return { value: undefined, done: true };
  }

  #takeBack(): Promise<void> {
    this.#takingBack ??= this.#cancelAll();
    return this.#takingBack;
  }

  async #cancelAll(): Promise<void> {
    const { values, errors } = this.#arrivals.stop();
    this.#ended = true;
    this.#untaken.push(...values);
    for (const error of errors) this.endpoint.receiveQueue.unsolicited(error as FabricError);
    if (this.#posted.size > 0 && !this.#limits.isClosed) {
      const drained = new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
      for (const request of this.#posted.keys()) this.#engine.cancel(request);
      await this.#engine.settled(drained);
      await this.#finishBusy();
    }
    const messages = this.#untaken.splice(0).map(({ slot, completion, arrival }) => {
      return { completion, arrival, handle: slot.handle, offset: 0, owner: this };
    });
    if (!this.#limits.isClosed) await giveBack(this.#limits, messages);
    this.#free();
  }

  // What is arriving comes before what the next receives get, unless its sender keeps it waiting.
  async #finishBusy(): Promise<void> {
    if (this.#busy === 0) return;
    const waiting = new AbortController();
    const late = sleep(ARRIVING, undefined, waiting).catch(() => {});
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    await this.#engine.settled(Promise.race([idle, late]));
    waiting.abort();
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
