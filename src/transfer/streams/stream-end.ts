import { setTimeout as sleep } from 'node:timers/promises';
import { offAbort, onAbort, reasonOf } from '../../base/abort-signals.js';
import { countAsHandled } from '../../base/cancellation.js';
import { Deferred } from '../../base/deferred.js';
import { within } from '../../base/wait-options.js';
import type { Access } from '../../diagnostics/transfer-state.js';
import { Channel } from '../confirmations.js';
import { endedBy, errnoOf, TransferError } from '../errors.js';
import type { MemoryPart } from '../memory.js';
import type { MemoryPool } from '../memory-pool.js';
import type { Offer } from '../offer.js';
import type { RemoteEngine } from '../remote-engine.js';
import { encodeMessage, type StreamMessage } from './messages.js';
import type { Flow } from './outflow.js';

/** The chunks and the bytes of a whole stream. */
export type StreamEnding = Extract<StreamMessage, { kind: 'end' }>;

// Milliseconds that the reason of a peer may arrive after the end of a transfer that the peer has ended.
const REASON_DELAY = 250;

// The most chunks that the peer may offer before they are asked for. It offers four at a time.
const MAX_TOKENS = 64;

const tooMany = () =>
  new TransferError(errnoOf('FI_EPROTO'), true, {
    detail: `the peer has offered more than ${MAX_TOKENS} chunks at once`,
  });

/** This engine's end of a stream. */
export class StreamEnd {
  readonly peer: RemoteEngine;
  /** Milliseconds to wait for the peer. */
  readonly timeout: number;
  /** Aborts when the stream has failed, with the error. */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #stream: number;
  readonly #isOwner: boolean;
  readonly #opened = new Deferred<number>();
  readonly #tokens = new Map<number, string>(); // of chunks that nobody has asked for
  #wanted = 0;
  #filled = 0;
  #changed: Deferred<void> | undefined;
  #ending: StreamEnding | undefined;
  readonly #closed: () => void;
  #isClosed = false;
  #isUsed: boolean; // its token
  #isConcluding = false;

  /** @param closed is called once, when the stream needs no more messages. */
  constructor(
    peer: RemoteEngine,
    stream: number,
    isOwner: boolean,
    { timeout, signal }: { timeout: number; signal: AbortSignal | undefined },
    closed: () => void,
  ) {
    this.peer = peer;
    this.timeout = timeout;
    this.signal = this.#controller.signal;
    this.#stream = stream;
    this.#isOwner = isOwner;
    this.#isUsed = !isOwner;
    const abort = () => this.fail(reasonOf(signal as AbortSignal));
    if (signal !== undefined) onAbort(signal, abort);
    this.#closed = () => {
      if (signal !== undefined) offAbort(signal, abort);
      closed();
    };
  }

  /** A message of the peer has arrived. */
  arrived(message: StreamMessage): void {
    switch (message.kind) {
      case 'open':
        this.#isUsed = true;
        this.#opened.resolve(message.chunk);
        break;
      case 'chunk':
        if (this.#tokens.size >= MAX_TOKENS) this.fail(tooMany());
        else this.#tokens.set(message.index, message.token);
        break;
      case 'wanted':
        this.#wanted = Math.max(this.#wanted, message.chunks);
        break;
      case 'filled':
        this.#filled = Math.max(this.#filled, message.chunks);
        break;
      case 'end':
        this.#ending ??= message;
        break;
      case 'failed':
        this.#end(endedBy('aborted', `the peer has ended the stream: ${message.reason}`, true));
    }
    this.#changed?.resolve();
    this.#changed = undefined;
  }

  async tell(message: StreamMessage): Promise<void> {
    const addressed = { stream: this.#stream, toOwner: !this.#isOwner, message };
    return this.peer.send(encodeMessage(addressed), Channel.Stream);
  }

  /** Waits for the peer. */
  async wait<T>(promise: Promise<T>, call: string): Promise<T> {
    countAsHandled(promise);
    this.signal.throwIfAborted();
    return within(promise, { signal: this.signal, timeout: this.timeout, unref: true }, call);
  }

  /**
   * Settles as the transfer of a chunk does. A peer that ends a stream also ends the offers of its chunks, and its message
   * with the reason may arrive later than the end of an offer.
   */
  async explained<T>(transfer: () => PromiseLike<T>): Promise<T> {
    try {
      return await transfer();
    } catch (error) {
      await sleep(REASON_DELAY, undefined, { signal: this.signal }).catch(() => {}); // it is aborted
      this.signal.throwIfAborted();
      throw error;
    }
  }

  /** Resolves when the peer has opened the stream, to the most bytes of its chunks. */
  get opened(): Promise<number> {
    return this.#opened.promise;
  }

  /** What the peer has told of the end. Undefined before it. */
  get ending(): StreamEnding | undefined {
    return this.#ending;
  }

  /** Whether the peer has told the end. It does so when all chunks have arrived. */
  get hasAll(): boolean {
    return this.#ending !== undefined;
  }

  /** Whether its token was used, and no side has told the end. */
  get isUnderWay(): boolean {
    return this.#isUsed && !this.hasAll && !this.#isConcluding;
  }

  /** How many chunks there are. Infinity until the peer has told the end. */
  get chunks(): number {
    return this.#ending?.chunks ?? Number.POSITIVE_INFINITY;
  }

  /** Asks the peer for chunks. @param chunks how many since the stream was opened. */
  ask(chunks: number): void {
    if (!this.hasAll) this.announce({ kind: 'wanted', chunks });
  }

  /** Tells the peer something, and waits for nothing. */
  announce(message: StreamMessage): void {
    if (!this.#isClosed) this.tell(message).catch((error) => this.fail(error));
  }

  /** Waits for messages of the peer until something is so. */
  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      this.#changed ??= new Deferred();
      await this.wait(this.#changed.promise, 'stream');
    }
  }

  /** Waits until the peer asks for a chunk. */
  asked(index: number): Promise<void> {
    return this.#until(() => index < this.#wanted);
  }

  /** Waits until the peer has filled its memory for a chunk. False: there is no such chunk. */
  async isFilled(index: number): Promise<boolean> {
    await this.#until(() => index < this.#filled || index >= this.chunks);
    return index < this.chunks;
  }

  /** The token of a chunk. Undefined if there is no such chunk. */
  async token(index: number): Promise<string | undefined> {
    await this.#until(() => this.#tokens.has(index) || index >= this.chunks);
    const token = this.#tokens.get(index);
    this.#tokens.delete(index);
    return token;
  }

  /** Offers the memory of a chunk to the peer, and tells it. */
  async offer(part: MemoryPart, access: Access, index: number): Promise<Offer> {
    const offer = await part.offer({ access, to: this.peer, expires: this.timeout });
    try {
      await this.wait(this.tell({ kind: 'chunk', index, token: offer.token }), 'stream');
    } catch (error) {
      countAsHandled(offer.arrived);
      countAsHandled(offer.close());
      throw error;
    }
    return offer;
  }

  /** Tells the peer that all chunks have arrived, and ends the stream. */
  async conclude(chunks: number, byteLength: number): Promise<void> {
    this.#isConcluding = true;
    await this.wait(this.tell({ kind: 'end', chunks, byteLength }), 'stream');
    this.close();
  }

  /** What the bytes of the stream use, if they go through this pool. */
  flow(pool: MemoryPool): Flow {
    const { timeout, signal } = this;
    return { pool, timeout, signal, fail: (error) => this.fail(error) };
  }

  /** Ends the stream with an error, and tells the peer. */
  fail(error: unknown): void {
    if (this.#isClosed) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.tell({ kind: 'failed', reason }).catch(() => {}); // the peer may be gone
    this.peer.sendNow(Channel.Stream); // before the transfers end, which the peer would take for the reason
    this.#end(error);
  }

  #end(error: unknown): void {
    if (this.#isClosed) return;
    this.#controller.abort(error);
    this.close();
  }

  /** The stream needs no more messages. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed();
  }
}
