import { addAbortSignal } from 'node:stream';
import { inThisContext } from '../base/async-context.js';
import { connectionError, errorOfPeer } from './errors.js';
import { MemoryReader, type OnRead } from './onread.js';
import { OwnerInContext } from './owner-in-context.js';
import type { Session } from './session.js';
import { SessionDuplex } from './session-duplex.js';
import { SocketTimeout } from './socket-timeout.js';
import { Mode } from './stream.js';

/** Options of a {@link FabricSocket}. */
export interface FabricSocketOptions {
  /** Whether the socket stays writable after the peer has ended its side. Default: false, as in node:net. */
  readonly allowHalfOpen?: boolean;
  /** Destroys the socket. */
  readonly signal?: AbortSignal;
  readonly writableHighWaterMark?: number;
  /** Takes what arrives into memory of the program, instead of emitting 'data'. */
  readonly onread?: OnRead;
}

/** Finds the session of a socket that connects. */
export type Connector = (port: unknown, host: unknown) => Promise<Session>;

type Done = (error?: Error | null) => void;

/** Bytes that write() has got, and the session has not accepted. */
interface Unsent {
  readonly chunks: readonly Uint8Array[];
  index: number;
  from: number;
  done: Done;
}

/** A stream of bytes between two processes, used as a net.Socket is. */
export class FabricSocket extends SessionDuplex {
  /** Whether it is connecting. */
  connecting = false;
  /** Always undefined: it has no handle of libuv. */
  readonly _handle: undefined;
  /** Finds the session for connect(). A server's sockets have none. */
  #connector: Connector | undefined;
  readonly #timeout = new SocketTimeout(() => this.emit('timeout'));
  #unsent: Unsent | undefined;
  #unsentBytes = 0;
  #isReferenced = true;
  #wantsBytes = false;
  readonly #onread: MemoryReader | undefined;
  #isCut = false; // the session has ended after the peer's side of the socket
  #bytesRead = 0;
  #bytesWritten = 0;

  /** Not connected: connect() of this module, and servers, make sockets that are. */
  constructor(options: FabricSocketOptions = {}) {
    const { allowHalfOpen = false, signal, writableHighWaterMark, onread } = options;
    super({
      allowHalfOpen,
      emitClose: false, // close() emits it, with its argument
      // One batch is read at a time, in one piece.
      readableHighWaterMark: 1,
      ...(writableHighWaterMark !== undefined && { writableHighWaterMark }),
    });
    this.#onread = onread && new MemoryReader(onread);
    if (signal !== undefined) addAbortSignal(signal, this); // it may destroy the socket at once
  }

  /** @internal A socket whose connect() calls `connector`. */
  static to(connector: Connector, options: FabricSocketOptions): FabricSocket {
    const socket = new FabricSocket(options);
    socket.#connector = connector;
    return socket;
  }

  /** @internal Joins a stream that the peer has opened. */
  static accepted(session: Session, stream: number, options: FabricSocketOptions): FabricSocket {
    const socket = new FabricSocket(options);
    socket.#join(session);
    socket.stream = stream;
    session.adopt(stream, socket.#owner);
    return socket;
  }

  /**
   * Connects, with the arguments of net.Socket's connect(). Without arguments, to where connect() of this module was
   * told.
   */
  connect(...args: unknown[]): this {
    const listener = typeof args.at(-1) === 'function' ? (args.pop() as () => void) : undefined;
    if (listener) this.once('connect', listener);
    if (this.connecting || this.session !== undefined) return this;
    if (this.destroyed || this.#connector === undefined) {
      this.destroy(connectionError('ERR_SOCKET_CLOSED', 'the socket cannot connect'));
      return this;
    }
    const [first, second] = args;
    const { port, host } =
      Object(first) === first ? (first as Record<string, unknown>) : { port: first, host: second };
    this.connecting = true;
    this.joinCall();
    this.#connector(port, host).then(
      (session) => this.#open(session, Mode.Bytes),
      (error) => void this.destroy(error),
    );
    return this;
  }

  /** @internal From now on, events belong to the async context of the caller. */
  joinCall(): void {
    this.#owner.join();
  }

  /** @internal Opens a stream of a session. */
  open(session: Session): this {
    this.connecting = true;
    this.#open(session, Mode.Bytes);
    return this;
  }

  #open(session: Session, mode: number): void {
    if (this.destroyed) {
      session.release();
      return;
    }
    if (session.error !== undefined) {
      this.destroy(session.error);
      return;
    }
    this.#join(session);
    this.stream = session.open(this.#owner, mode);
    if (this.stream === 0) this.destroy(connectionError('EMFILE', 'too many sockets', 'connect'));
  }

  #join(session: Session): void {
    this.joinSession(session);
    if (this.#isReferenced) session.hold(1);
  }

  readonly #owner = new OwnerInContext({
    accepted: () => {
      if (this.destroyed) return;
      this.connecting = false;
      this.#timeout.refresh();
      this.emit('connect');
      this.emit('ready');
      const fallback = this.session?.fallback;
      if (fallback) this.emit('fallback', fallback);
      if (this.#wantsBytes) this.#take();
      else if (!this.isPaused()) this.read(0); // the peer may end without bytes
      this.#sendUnsent();
    },
    refused: (errno) => this.destroy(errorOfPeer(errno, 'the peer refuses the socket', 'connect')),
    readable: () => this.#takeWanted(),
    // Callbacks of earlier writes come first.
    writable: () => process.nextTick(() => this.#sendUnsent()),
    reset: (errno) => {
      this.stream = 0;
      this.destroy(errorOfPeer(errno, 'the peer has reset the socket', 'read'));
    },
    fellBack: (error) => this.emit('fallback', error),
    lostNic: (error) => this.emit('nicLost', error),
    lost: (error) => {
      if (error === undefined) {
        this.#isCut = true;
        this.#sendUnsent();
        return;
      }
      this.stream = 0;
      this.destroy(error);
    },
  });

  /** @internal */
  override _read(): void {
    this.#wantsBytes = true;
    if (this.connecting) return;
    // read() calls this before it takes what is buffered. Some libraries call it once for each 'readable', and since
    // Node.js 26 it returns one piece, not all.
    if (this.readableLength > 0) process.nextTick(this.#takeWanted);
    else this.#take();
  }

  readonly #takeWanted = (): void => {
    if (this.#wantsBytes) this.#take();
  };

  #take(): void {
    const { session, stream } = this;
    if (session === undefined || stream === 0) return;
    if (this.#onread) {
      if (!this.#onread.read(this.#takeInto)) return;
      this.#wantsBytes = false;
      this.#pushEnd();
      return;
    }
    const bytes = session.take(stream);
    if (bytes === undefined) return;
    this.#wantsBytes = false;
    this.#timeout.refresh();
    if (bytes === null) {
      this.#pushEnd();
      return;
    }
    this.#bytesRead += bytes.length;
    this.push(bytes);
    // Readable does not read on after a part of a character.
    if (this.readableEncoding !== null) process.nextTick(() => this.read(0));
  }

  readonly #takeInto = (memory: Uint8Array): number => {
    const length = this.stream > 0 ? (this.session?.takeInto(this.stream, memory, 0) ?? 0) : 0;
    if (length > 0) this.#bytesRead += length;
    if (length !== 0) this.#timeout.refresh();
    return length;
  };

  #pushEnd(): void {
    this.push(null);
    this.read(0); // emits 'end', although nobody reads
  }

  override pause(): this {
    if (this.#onread) this.#onread.isStopped = true;
    return super.pause();
  }

  override resume(): this {
    if (this.#onread?.isStopped) {
      this.#onread.isStopped = false;
      process.nextTick(() => this.#take());
    }
    return super.resume();
  }

  // Without allowHalfOpen, the end of the peer has ended this side. The program may not know it.
  override write(
    chunk: unknown,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    done?: (error?: Error | null) => void,
  ): boolean {
    if (this.allowHalfOpen || !this.writableEnded || !this.readableEnded)
      return super.write(chunk, encoding as BufferEncoding, done);
    const error = connectionError('EPIPE', 'the peer has ended the socket', 'write');
    const callback = typeof encoding === 'function' ? encoding : done;
    if (callback) process.nextTick(callback, error);
    this.destroy(error);
    return false;
  }

  /** @internal */
  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Done): void {
    this.#send([chunk], done);
  }

  /** @internal */
  override _writev(chunks: { chunk: Uint8Array }[], done: Done): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  #send(chunks: readonly Uint8Array[], done: Done): void {
    if (!this.connecting && this.session === undefined) {
      done(connectionError('ERR_SOCKET_CLOSED', 'the socket is not connected'));
      return;
    }
    this.#unsent = { chunks, index: 0, from: 0, done };
    this.#unsentBytes = chunks.reduce((sum, { length }) => sum + length, 0);
    if (!this.connecting) this.#sendUnsent();
    if (this.#unsent) this.#unsent.done = inThisContext(done);
  }

  // Never waits for the peer's reader while the session has room for the bytes.
  #sendUnsent(): void {
    const unsent = this.#unsent;
    const session = this.session;
    if (unsent === undefined || session === undefined) return;
    if (this.#isCut) {
      this.#unsent = undefined;
      unsent.done(connectionError('EPIPE', 'the peer is gone', 'write'));
      return;
    }
    this.#timeout.refresh();
    for (; unsent.index < unsent.chunks.length; unsent.index += 1, unsent.from = 0) {
      const chunk = unsent.chunks[unsent.index] as Uint8Array;
      const accepted = session.write(this.stream, chunk, unsent.from);
      this.#bytesWritten += accepted;
      this.#unsentBytes -= accepted;
      unsent.from += accepted;
      if (unsent.from < chunk.length) return;
    }
    this.#unsent = undefined;
    unsent.done();
  }

  /** @internal */
  override _final(done: Done): void {
    if (this.pending) {
      this.once('connect', () => this._final(done));
      return;
    }
    this.session?.end(this.stream);
    done();
  }

  /** @internal */
  override _destroy(error: Error | null, done: Done): void {
    const wasConnecting = this.connecting;
    this.connecting = false;
    this.#timeout.set(0);
    const session = this.session;
    if (session !== undefined && this.stream > 0) session.destroy(this.stream);
    this.stream = 0;
    if (session !== undefined && this.#isReferenced) session.hold(-1);
    this.#isReferenced = false;
    const unsent = this.#unsent;
    this.#unsent = undefined;
    unsent?.done(
      wasConnecting
        ? connectionError('ERR_SOCKET_CLOSED_BEFORE_CONNECTION', 'the socket has not connected')
        : (error ?? connectionError('ERR_STREAM_DESTROYED', 'the socket was destroyed')),
    );
    this.#owner.run(() => done(error));
    process.nextTick(() => this.#owner.run(() => this.emit('close', error !== null)));
  }

  /** Destroys the socket when everything that was written has been accepted. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  /** Destroys the socket. The peer gets ECONNRESET. */
  resetAndDestroy(): this {
    if (this.connecting) return this.once('connect', () => this.resetAndDestroy());
    if (this.destroyed || this.stream === 0)
      return this.destroy(connectionError('ERR_SOCKET_CLOSED', 'Socket is closed'));
    this.session?.reset(this.stream, 0);
    this.stream = 0;
    return this.destroy();
  }

  /** Emits 'timeout' after so many milliseconds without activity. 0: never. */
  setTimeout(milliseconds: number, listener?: () => void): this {
    if (this.destroyed) return this;
    this.#timeout.set(milliseconds);
    if (listener === undefined) return this;
    if (milliseconds === 0) this.off('timeout', listener);
    else this.once('timeout', listener);
    return this;
  }

  /** Milliseconds until 'timeout', 0 without a limit. */
  get timeout(): number {
    return this.#timeout.milliseconds;
  }

  /** Does nothing: what is written in one turn of the event loop travels together, and at once. */
  setNoDelay(): this {
    return this;
  }

  /** Does nothing: the session has heartbeats. */
  setKeepAlive(): this {
    return this;
  }

  /** Lets the socket keep the event loop alive. It does until unref(). */
  ref(): this {
    if (this.#isReferenced || this.destroyed) return this;
    this.#isReferenced = true;
    this.session?.hold(1);
    return this;
  }

  /** Lets the event loop end although the socket is open. */
  unref(): this {
    if (!this.#isReferenced) return this;
    this.#isReferenced = false;
    this.session?.hold(-1);
    return this;
  }

  /** Whether it is not connected yet, or not any more. */
  get pending(): boolean {
    return this.stream === 0 || this.connecting;
  }

  /** As in node:net. */
  get readyState(): 'opening' | 'open' | 'readOnly' | 'writeOnly' | 'closed' {
    if (this.connecting) return 'opening';
    if (this.pending) return 'closed';
    if (this.readable && this.writable) return 'open';
    if (this.readable) return 'readOnly';
    return this.writable ? 'writeOnly' : 'closed';
  }

  /** The bytes that were read. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** The bytes that were written, including those that wait. */
  get bytesWritten(): number {
    return this.#bytesWritten + this.bufferSize;
  }

  /** The bytes that wait to be accepted. */
  get bufferSize(): number {
    return this.#unsentBytes + (this.writableLength - this.#lengthInWrite);
  }

  // The stream still counts the chunks that _write() has got.
  get #lengthInWrite(): number {
    return this.#unsent === undefined
      ? 0
      : this.#unsent.chunks.reduce((sum, { length }) => sum + length, 0);
  }
}
