import { EventEmitter } from 'node:events';
import { checkAnySignal, checkSignal, offAbort, onAbort } from '../base/abort-signals.js';
import { checkBytes, checkInteger, checkObject, checkOptions, namesOf } from '../base/checks.js';
import { emitApart } from '../base/emit-apart.js';
import { invalidArgType } from '../base/errors.js';
import { isInstance } from '../base/objects.js';
import { within } from '../base/wait-options.js';
import type { NetSocketState } from '../diagnostics/net-state.js';
import { MemoryPart, TransferMemory } from '../transfer/memory.js';
import { TransferEngine } from '../transfer/transfer-engine.js';
import { abortedBy, connectionError } from './errors.js';
import { Handover, place } from './handover.js';
import { decodeOffer, type MessageOffer } from './message-offer.js';
import { MessageReader, type Received } from './message-reader.js';
import { Kind, LONGEST, MessageWriter } from './message-writer.js';
import { checkReceiveOptions, copyOf, type ReceiveOptions } from './receive-options.js';
import { SocketStream } from './socket-stream.js';
import { Mode, type SocketSession } from './stream.js';

/** Options of a {@link MessageSocket}. */
export interface MessageSocketOptions {
  /** The most bytes of a message that this side takes. Default: 16 MiB. A longer one ends the socket with EMSGSIZE. */
  readonly maxMessageLength?: number;
  /** The engine whose memory sendFrom() and receiveInto() transfer. The program closes it. */
  readonly engine?: TransferEngine;
  /** Destroys the socket. */
  readonly signal?: AbortSignal;
}

const DEFAULT_LONGEST = 16 * 1024 * 1024;
/** Milliseconds that `await using` waits for the peer's end. */
const DISPOSE_TIMEOUT = 5000;
const NOTHING = new Uint8Array(0);

/** A message of the peer: its bytes, or an offer of the memory that they are in. */
type Incoming = Uint8Array | MessageOffer;

const OPTIONS = namesOf<{ signal?: AbortSignal }>({ signal: 1 });

const checkSignalOf = (options: { readonly signal?: AbortSignal }): AbortSignal | undefined =>
  checkAnySignal(checkOptions('options', options, OPTIONS).signal);

function checkMemory(memory: unknown): void {
  if (!isInstance(memory, TransferMemory) && !isInstance(memory, MemoryPart))
    throw invalidArgType('memory', 'a TransferMemory or a MemoryPart', memory);
}

const isOffer = (message: Incoming): message is MessageOffer => 'token' in message;

/**
 * Messages between two processes. Boundaries are kept, and each message arrives once and in order.
 *
 * It emits `'connect'`, `'fallback'` (packets travel over TCP, with the reason), `'nicLost'` and `'close'`. Errors reject
 * the promises of the calls that meet them. `'error'` is emitted too if there is a listener.
 */
export class MessageSocket extends EventEmitter implements AsyncIterable<Uint8Array> {
  readonly #writer = new MessageWriter();
  readonly #reader: MessageReader;
  readonly #longest: number;
  readonly #handover: Handover;
  readonly #signal: AbortSignal | undefined;
  #isReferenced = true;
  #isEnding = false;
  #hasEnded = false;
  #isClosed = false;
  #error: Error | undefined;
  /** The stream is lost: nothing arrives after what has arrived, and nothing is sent. */
  #loss: Error | undefined;
  #arrived: (() => void) | undefined;
  #isReading = false;
  #isMet = false;
  /** A message that was read before the program has asked for it. Null: the end. */
  #early: Incoming | null | undefined;

  constructor(options: MessageSocketOptions = {}) {
    super();
    const { maxMessageLength = DEFAULT_LONGEST, engine, signal } = checkObject('options', options);
    checkInteger('options.maxMessageLength', maxMessageLength);
    if (engine !== undefined && !isInstance(engine, TransferEngine))
      throw invalidArgType('options.engine', 'a TransferEngine', engine);
    this.#reader = new MessageReader(
      (into, from) => this.#stream.takeInto(into, from),
      Math.min(maxMessageLength, LONGEST),
    );
    this.#longest = maxMessageLength;
    this.#handover = new Handover(engine, {
      add: (kind, bytes) => this.#writer.add(kind, bytes),
      destroy: (error) => this.destroy(error),
    });
    this.#signal = checkAnySignal(signal);
    if (signal?.aborted) this.#abort();
    else if (signal) onAbort(signal, this.#abort);
  }

  readonly #abort = (): void => {
    this.destroy(abortedBy(this.#signal as AbortSignal));
  };

  /** @internal Opens a stream of the session that will be found. `again`: as for openFrom() of the stream. */
  connect(connecting: Promise<SocketSession>, again?: () => Promise<SocketSession>): this {
    this.#stream.hold(this.#isReferenced);
    this.#stream.openFrom(connecting, again);
    return this;
  }

  /** @internal Joins a stream that the peer has opened. */
  static accepted(
    session: SocketSession,
    stream: number,
    options: MessageSocketOptions,
  ): MessageSocket {
    const socket = new MessageSocket(options);
    socket.#stream.hold(true);
    socket.#handover.stranger = session.stranger;
    socket.#stream.accept(session, stream);
    socket.#open();
    return socket;
  }

  #open(): void {
    this.#writer.open((bytes, from) => this.#stream.write(bytes, from));
    this.#drain();
    this.#meet();
    this.#closeIfOver(); // also asks for the next event
  }

  #drain(): void {
    const error = this.#writer.drain();
    if (error) this.destroy(error);
    else if (this.#isEnding) this.#endIfSent();
  }

  // The first record says where the transfer engine of the peer is.
  #meet(): void {
    if (this.#isMet || this.#isClosed) return;
    const first = this.#record();
    if (first === undefined) return;
    this.#isMet = true;
    this.#wake(); // messages may have arrived together with it
    if (first === null)
      this.#early = null; // it was destroyed at once
    else if (first.kind === Kind.Engine) this.#handover.met(first.bytes);
    else this.destroy(connectionError('EPROTO', 'the peer sends no messages', 'read'));
  }

  /** The next record, null at the end, undefined if it has not arrived. */
  #record(): Received | null | undefined {
    try {
      return this.#reader.next();
    } catch (error) {
      this.destroy(error as Error);
      return undefined;
    }
  }

  /** The next message, null at the end, undefined if it has not arrived. */
  #read(): Incoming | null | undefined {
    const record = this.#record();
    if (!record) return record;
    return record.kind === Kind.Message ? record.bytes : this.#offerIn(record);
  }

  #offerIn({ kind, bytes }: Received): MessageOffer | undefined {
    try {
      if (kind === Kind.Offer) return decodeOffer(bytes, this.#longest);
      throw connectionError('EPROTO', 'the peer sends a record of an unknown kind', 'read');
    } catch (error) {
      this.destroy(error as Error);
      return undefined;
    }
  }

  readonly #stream = new SocketStream(Mode.Messages, {
    accepted: () => {
      this.#open();
      emitApart(this, 'connect');
      const fallback = this.#stream.session?.fallback;
      if (fallback) emitApart(this, 'fallback', fallback);
    },
    failed: (error) => this.destroy(error),
    readable: () => {
      this.#meet();
      this.#wake();
      this.#closeIfOver();
    },
    writable: () => {
      this.#drain();
    },
    fellBack: (error) => emitApart(this, 'fallback', error),
    lostNic: (error) => emitApart(this, 'nicLost', error),
    lost: (error, isWhole) => {
      if (this.#isClosed || this.#loss) return;
      this.#loss = isWhole ? connectionError('EPIPE', 'the peer is gone', 'write') : error;
      this.#writer.fail(this.#loss);
      this.#handover.fail(error); // the peer reads no memory any more
      this.#meet();
      if (!isWhole && !this.#isReading && !this.#hasUnread) this.destroy(error);
      this.#wake();
      this.#closeIfOver();
    },
  });

  /**
   * Sends a message: bytes, or a text in UTF-8. The promise resolves when the bytes may be changed and there is room for
   * more. It does not wait for the peer.
   */
  send(message: Uint8Array | string): Promise<void> {
    let bytes: Uint8Array;
    try {
      bytes = typeof message === 'string' ? Buffer.from(message) : checkBytes('message', message);
      checkInteger('message.length', bytes.length, 0, LONGEST);
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#isEnding || this.#isClosed)
      return Promise.reject(
        this.#loss ?? this.#error ?? connectionError('EPIPE', 'the socket has ended', 'write'),
      );
    return this.#writer.add(Kind.Message, bytes);
  }

  /**
   * Sends memory of `options.engine` as a message, without a copy: the peer reads it into its own memory. The promise
   * resolves when the peer has all bytes. The peer needs an engine too, and calls receiveInto().
   */
  async sendFrom(
    memory: TransferMemory | MemoryPart,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    checkMemory(memory);
    await this.#handover.send(memory, checkSignalOf(options));
  }

  /**
   * Receives the next message into memory of `options.engine`. Returns the number of its bytes, undefined if the peer has
   * ended.
   */
  async receiveInto(
    memory: TransferMemory | MemoryPart,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<number | undefined> {
    checkMemory(memory);
    const signal = checkSignalOf(options);
    const message = await this.#next(signal);
    if (message === undefined) return undefined;
    if (isOffer(message)) return this.#handover.receive(message, memory, signal);
    return place(message, memory);
  }

  /**
   * Receives the next message, undefined if the peer has ended.
   *
   * @throws Error ERR_INVALID_STATE while another call waits.
   */
  async receive(options: ReceiveOptions = {}): Promise<Uint8Array | undefined> {
    return this.#receive(checkReceiveOptions(options));
  }

  async #receive({ signal, borrow }: ReceiveOptions): Promise<Uint8Array | undefined> {
    const message = await this.#next(signal);
    if (message === undefined) return undefined;
    if (isOffer(message)) return this.#handover.receiveCopy(message, signal);
    return borrow ? message : copyOf(message);
  }

  /** The messages of the peer until it ends. */
  messages(options: ReceiveOptions = {}): AsyncIterableIterator<Uint8Array> {
    const checked = checkReceiveOptions(options);
    const iterator: AsyncIterableIterator<Uint8Array> = {
      next: () => {
        const ready = checked.signal ? undefined : this.#readyMessage();
        if (ready) {
          return Promise.resolve({ value: checked.borrow ? ready : copyOf(ready), done: false });
        }
        return this.#receive(checked).then((value) =>
          value === undefined ? { value, done: true } : { value, done: false },
        );
      },
      return: () => {
        this.#closeIfOver();
        return Promise.resolve({ value: undefined, done: true });
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  /** As messages() without options. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return this.messages();
  }

  // A message that has arrived needs no function that waits.
  #readyMessage(): Uint8Array | undefined {
    if (this.#isReading || this.#isClosed || !this.#isMet || this.#early !== undefined)
      return undefined;
    const message = this.#read();
    if (message && !isOffer(message)) return message;
    this.#early = message;
    return undefined;
  }

  async #next(signal: AbortSignal | undefined): Promise<Incoming | undefined> {
    if (this.#isReading)
      throw connectionError('ERR_INVALID_STATE', 'another call receives from this socket');
    this.#isReading = true;
    try {
      for (;;) {
        checkSignal(signal);
        if (this.#error && this.#early !== null) throw this.#error;
        const received = this.#early === undefined && this.#isMet ? this.#read() : this.#early;
        if (received === null) {
          this.#early = null; // it stays so
          return undefined;
        }
        this.#early = undefined;
        if (received) return received;
        if (this.#loss) this.destroy(this.#loss);
        if (!this.#error) await this.#arrival(signal);
      }
    } finally {
      this.#isReading = false;
      this.#closeIfOver();
    }
  }

  #arrival(signal: AbortSignal | undefined): Promise<void> {
    const arrival = new Promise<void>((resolve) => {
      this.#arrived = resolve;
    });
    return signal ? within(arrival, { signal, timeout: undefined }, 'receive') : arrival;
  }

  #wake(): void {
    const arrived = this.#arrived;
    this.#arrived = undefined;
    arrived?.();
  }

  /** Ends this side after the messages that were sent. The peer's may still arrive. */
  end(): void {
    if (this.#isEnding || this.#isClosed) return;
    this.#isEnding = true;
    this.#writer.flush();
    if (this.#stream.isOpen) this.#endIfSent();
  }

  #endIfSent(): void {
    if (!this.#writer.isEmpty) return;
    this.#stream.end();
    this.#hasEnded = true;
    this.#closeIfOver();
  }

  // Both sides have ended. Nobody may have asked for the peer's end.
  #closeIfOver(): void {
    if (this.#isClosed || (!this.#hasEnded && !this.#loss)) return;
    if (!this.#isReading && this.#isMet && this.#early === undefined && this.#isAtEnd) {
      this.#early = null;
    }
    if (this.#early === null) this.destroy();
  }

  /** Whether only the peer's end is left to be received. If it is not there yet, readable() follows. */
  get #isAtEnd(): boolean {
    return this.#reader.isEmpty && this.#stream.takeInto(NOTHING, 0) === -1;
  }

  get #hasUnread(): boolean {
    return Boolean(this.#early) || !this.#reader.isEmpty || (this.stats()?.unread ?? 0) > 0;
  }

  /**
   * Ends both sides at once. Messages whose send() has resolved still arrive. The peer gets ECONNRESET after them if it has
   * sent messages that were not received, or if others were not accepted yet.
   */
  destroy(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#signal) offAbort(this.#signal, this.#abort);
    this.#error = error ?? connectionError('ERR_STREAM_DESTROYED', 'the socket was destroyed');
    this.#writer.flush();
    this.#stream.destroy(!this.#writer.isEmpty || Boolean(this.#early) || !this.#reader.isEmpty);
    this.unref();
    this.#writer.fail(this.#error);
    this.#handover.close(this.#error);
    this.#wake();
    process.nextTick(() =>
      this.#stream.run(() => {
        if (error && this.listenerCount('error') > 0) emitApart(this, 'error', error);
        this.emit('close', error);
      }),
    );
  }

  /** Whether it was destroyed, or has failed. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** Ends the socket, and destroys it when the peer has ended too, at the latest after 5 seconds: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    const closed = new Promise((resolve) => this.once('close', resolve));
    this.end();
    const timer = setTimeout(() => this.destroy(), DISPOSE_TIMEOUT);
    while ((await this.receive({ borrow: true }).catch(() => undefined)) !== undefined);
    await closed;
    clearTimeout(timer);
  }

  /** Lets the socket keep the event loop alive. It does until unref(). */
  ref(): this {
    if (this.#isClosed) return this;
    this.#isReferenced = true;
    this.#stream.hold(true);
    return this;
  }

  /** Lets the event loop end although the socket is open. */
  unref(): this {
    this.#isReferenced = false;
    this.#stream.hold(false);
    return this;
  }

  /** What the socket waits for, and the bytes on their way. Undefined if it is not connected. */
  stats(): NetSocketState | undefined {
    return this.#stream.state();
  }

  /** The provider whose endpoints carry the packets, or `'control'`: they travel over TCP or TLS. */
  get path(): string | undefined {
    return this.#stream.session?.path;
  }

  /** The address of the peer on the control connection. */
  get remoteAddress(): string | undefined {
    return this.#stream.address.remoteAddress;
  }

  /** The port of the peer on the control connection. */
  get remotePort(): number | undefined {
    return this.#stream.address.remotePort;
  }

  /** Whether the session was agreed over TLS. */
  get encrypted(): boolean {
    return this.#stream.certified.encrypted === true;
  }

  /** Whether the peer's certificate was verified. */
  get authorized(): boolean {
    return this.#stream.certified.authorized === true;
  }

  /** The certificate of the peer, if the session was agreed over TLS. */
  getPeerCertificate(detailed?: boolean): object | undefined {
    return this.#stream.certified.getPeerCertificate?.(detailed);
  }
}
