import { EventEmitter } from 'node:events';
import { checkAnySignal, checkSignal, offAbort, onAbort, reasonOf } from '../base/abort-signals.js';
import { within } from '../base/wait-options.js';
import type { NetSocketState } from '../diagnostics/net-state.js';
import type { MemoryPart, TransferEngine, TransferMemory } from '../transfer/index.js';
import { connectionError, errorOfPeer } from './errors.js';
import { Handover } from './handover.js';
import { MessageReader, type Received } from './message-reader.js';
import { Kind, LONGEST, MessageWriter } from './message-writer.js';
import { type Address, addressesOf, type Certified, certifiedOf, NO_ADDRESS } from './peer-info.js';
import { Mode, type SocketSession, type StreamOwner } from './stream.js';

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

/**
 * Messages between two processes. Boundaries are kept, and each message arrives once and in order.
 *
 * It emits `'connect'`, `'fallback'` (packets travel over TCP, with the reason), `'nicLost'` and `'close'`. Errors reject
 * the promises of the calls that meet them. `'error'` is emitted too if there is a listener.
 */
export class MessageSocket extends EventEmitter implements AsyncIterable<Uint8Array> {
  readonly #writer = new MessageWriter();
  readonly #reader: MessageReader;
  readonly #handover: Handover;
  readonly #signal: AbortSignal | undefined;
  #session: SocketSession | undefined;
  #stream = 0;
  #address: Address = NO_ADDRESS;
  #certified: Certified = {};
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
  /** A record that was read before anybody has asked for it. Null: the end. */
  #early: Received | null | undefined;

  constructor(options: MessageSocketOptions = {}) {
    super();
    const { maxMessageLength = DEFAULT_LONGEST, engine, signal } = options;
    this.#reader = new MessageReader(
      (into, from) => this.#session?.takeInto(this.#stream, into, from) ?? 0,
      Math.min(maxMessageLength, LONGEST),
    );
    this.#handover = new Handover(engine, (kind, bytes) => this.#writer.add(kind, bytes));
    this.#signal = checkAnySignal(signal);
    if (signal?.aborted) this.#abort();
    else if (signal) onAbort(signal, this.#abort);
  }

  readonly #abort = (): void => {
    this.destroy(reasonOf(this.#signal as AbortSignal) as Error);
  };

  /** @internal Opens a stream of the session that `connecting` resolves to. */
  connect(connecting: Promise<SocketSession>): this {
    connecting.then(
      (session) => {
        if (this.#isClosed) return session.release();
        if (session.error) return this.destroy(session.error);
        this.#join(session);
        this.#stream = session.open(this.#owner, Mode.Messages);
        if (this.#stream === 0)
          this.destroy(connectionError('EMFILE', 'too many sockets', 'connect'));
      },
      (error) => this.destroy(error),
    );
    return this;
  }

  /** @internal Joins a stream that the peer has opened. */
  static accepted(
    session: SocketSession,
    stream: number,
    options: MessageSocketOptions,
  ): MessageSocket {
    const socket = new MessageSocket(options);
    socket.#join(session);
    socket.#stream = stream;
    session.adopt(stream, socket.#owner);
    socket.#open();
    return socket;
  }

  #join(session: SocketSession): void {
    this.#session = session;
    this.#address = addressesOf(session.control);
    this.#certified = certifiedOf(session.control);
    if (this.#isReferenced) session.hold(1);
  }

  #open(): void {
    const session = this.#session as SocketSession;
    this.#writer.open((bytes, from) => session.write(this.#stream, bytes, from));
    this.#writer.drain();
    if (this.#isEnding) this.#endIfSent();
    this.#meet();
  }

  // The first record says where the transfer engine of the peer is.
  #meet(): void {
    if (this.#isMet || this.#isClosed) return;
    const first = this.#read();
    if (first === undefined) return;
    this.#isMet = true;
    this.#wake(); // messages may have arrived together with it
    if (first?.kind === Kind.Engine) this.#handover.met(first.bytes);
    else this.destroy(connectionError('EPROTO', 'the peer sends no messages', 'read'));
  }

  /** The next record, null at the end, undefined if it has not arrived. */
  #read(): Received | null | undefined {
    try {
      return this.#reader.next();
    } catch (error) {
      this.destroy(error as Error);
      return undefined;
    }
  }

  readonly #owner: StreamOwner = {
    accepted: () => {
      this.#open();
      this.emit('connect');
      const fallback = this.#session?.fallback;
      if (fallback) this.emit('fallback', fallback);
    },
    refused: (errno) => this.destroy(errorOfPeer(errno, 'connect')),
    readable: () => {
      this.#meet();
      this.#wake();
      this.#closeIfOver();
    },
    writable: () => {
      this.#writer.drain();
      if (this.#isEnding) this.#endIfSent();
    },
    fellBack: (error) => this.emit('fallback', error),
    lostNic: (error) => this.emit('nicLost', error),
    lost: (error, isWhole) => {
      if (this.#isClosed || this.#loss) return;
      this.#loss = isWhole ? connectionError('EPIPE', 'the peer is gone', 'write') : error;
      this.#writer.fail(this.#loss);
      this.#meet();
      if (!isWhole && !this.#isReading && !this.#hasUnread) this.destroy(error);
      this.#wake();
      this.#closeIfOver();
    },
  };

  /**
   * Sends a message: bytes, or a text in UTF-8. The promise resolves when the bytes may be changed and there is room for
   * more. It does not wait for the peer.
   */
  send(message: Uint8Array | string): Promise<void> {
    const bytes = typeof message === 'string' ? Buffer.from(message) : message;
    if (!(bytes instanceof Uint8Array) || bytes.length > LONGEST)
      return Promise.reject(
        new RangeError(`a message has at most ${LONGEST} bytes, in a Uint8Array`),
      );
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
  sendFrom(
    memory: TransferMemory | MemoryPart,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    return this.#handover.send(memory, options.signal);
  }

  /**
   * Receives the next message into memory of `options.engine`. Returns the number of its bytes, undefined if the peer has
   * ended.
   */
  async receiveInto(
    memory: TransferMemory | MemoryPart,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<number | undefined> {
    const received = await this.#next(options.signal);
    return received && this.#handover.receive(received, memory, options.signal);
  }

  /**
   * Receives the next message, undefined if the peer has ended. Its bytes are valid until the next call.
   *
   * @throws Error ERR_INVALID_STATE while another call waits.
   */
  async receive(options: { readonly signal?: AbortSignal } = {}): Promise<Uint8Array | undefined> {
    const received = await this.#next(options.signal);
    if (received === undefined || received.kind === Kind.Message) return received?.bytes;
    return this.#handover.receiveCopy(received, options.signal);
  }

  /** The messages of the peer until it ends. The bytes of each are valid until the next. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return {
      next: () => {
        const ready = this.#readyMessage();
        if (ready) return Promise.resolve({ value: ready, done: false });
        return this.receive().then((value) =>
          value === undefined ? { value, done: true } : { value, done: false },
        );
      },
      return: () => {
        this.#closeIfOver();
        return Promise.resolve({ value: undefined, done: true });
      },
    };
  }

  // A message that has arrived needs no function that waits.
  #readyMessage(): Uint8Array | undefined {
    if (this.#isReading || this.#isClosed || !this.#isMet || this.#early !== undefined)
      return undefined;
    const received = this.#read();
    if (received?.kind === Kind.Message) return received.bytes;
    this.#early = received;
    return undefined;
  }

  async #next(signal: AbortSignal | undefined): Promise<Received | undefined> {
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
    if (this.#stream > 0) this.#endIfSent();
  }

  #endIfSent(): void {
    if (!this.#writer.isEmpty) return;
    this.#session?.end(this.#stream);
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
    return this.#reader.isEmpty && this.#session?.takeInto(this.#stream, NOTHING, 0) === -1;
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
    const session = this.#session;
    this.#writer.flush();
    if (session && this.#stream > 0) session.destroy(this.#stream, !this.#writer.isEmpty);
    this.#stream = 0;
    if (session && this.#isReferenced) session.hold(-1);
    this.#isReferenced = false;
    this.#writer.fail(this.#error);
    this.#handover.fail(this.#error);
    this.#wake();
    process.nextTick(() => {
      if (error && this.listenerCount('error') > 0) this.emit('error', error);
      this.emit('close', error);
    });
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
    while ((await this.receive().catch(() => undefined)) !== undefined);
    await closed;
    clearTimeout(timer);
  }

  /** Lets the socket keep the event loop alive. It does until unref(). */
  ref(): this {
    if (this.#isReferenced || this.#isClosed) return this;
    this.#isReferenced = true;
    this.#session?.hold(1);
    return this;
  }

  /** Lets the event loop end although the socket is open. */
  unref(): this {
    if (!this.#isReferenced) return this;
    this.#isReferenced = false;
    this.#session?.hold(-1);
    return this;
  }

  /** What the socket waits for, and the bytes on their way. Undefined if it is not connected. */
  stats(): NetSocketState | undefined {
    return this.#stream > 0 ? this.#session?.socketState(this.#stream) : undefined;
  }

  /** The provider whose endpoints carry the packets, or `'control'`: they travel over TCP or TLS. */
  get path(): string | undefined {
    return this.#session?.path;
  }

  /** The address of the peer on the control connection. */
  get remoteAddress(): string | undefined {
    return this.#address.remoteAddress;
  }

  /** The port of the peer on the control connection. */
  get remotePort(): number | undefined {
    return this.#address.remotePort;
  }

  /** Whether the session was agreed over TLS. */
  get encrypted(): boolean {
    return this.#certified.encrypted === true;
  }

  /** Whether the peer's certificate was verified. */
  get authorized(): boolean {
    return this.#certified.authorized === true;
  }

  /** The certificate of the peer, if the session was agreed over TLS. */
  getPeerCertificate(detailed?: boolean): object | undefined {
    return this.#certified.getPeerCertificate?.(detailed);
  }
}
