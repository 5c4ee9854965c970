import type { EventEmitter } from 'node:events';
import { addAbortSignal } from 'node:stream';
import { emitApart } from '../base/emit-apart.js';
import { invalidArgType } from '../base/errors.js';
import { sessionTo } from './connect.js';
import { codedError, connectionError, socketClosed } from './errors.js';
import type { FabricOptions } from './ports.js';
import { SessionDuplex } from './session-duplex.js';
import {
  type ConnectOptions,
  checkConnectOptions,
  connectArguments,
  type FabricSocketOptions,
} from './socket-options.js';
import { SocketReader } from './socket-reader.js';
import { SocketStream } from './socket-stream.js';
import { checkTimeout, SocketTimeout } from './socket-timeout.js';
import { bytesGone, SocketWriter } from './socket-writer.js';
import { Mode, type SocketSession } from './stream.js';

type Done = (error?: Error | null) => void;

/** A stream of bytes between two processes, used as a net.Socket is. */
export class FabricSocket extends SessionDuplex {
  /** What setTimeout() was called with. */
  timeout: number | undefined;
  /** Whether it is connecting. */
  connecting = false;
  /** The addresses that were tried, as in node:net. */
  autoSelectFamilyAttemptedAddresses: string[] | undefined;
  /** Always null: it has no handle of libuv. */
  readonly _handle: null = null;
  /** The server that has accepted it, null if none has. */
  server: EventEmitter | null = null;
  /** What connect() uses where its own arguments name nothing else. */
  readonly #options: Partial<ConnectOptions>;
  /** @internal Its listeners may throw: each event is apart from what follows it. */
  protected readonly stream = new SocketStream(Mode.Bytes, {
    accepted: () => this.#accepted(),
    failed: (error) => void this.destroy(error),
    readable: () => this.#reader.arrived(),
    // Callbacks of earlier writes come first.
    writable: () => process.nextTick(() => this.#sendUnsent()),
    fellBack: (error) => emitApart(this, 'fallback', error),
    lostNic: (error) => emitApart(this, 'nicLost', error),
    lost: (error, isWhole, isUnread) => this.#lost(error, isWhole, isUnread),
  });
  readonly #timeout = new SocketTimeout(() => this.emit('timeout'));
  #reader: SocketReader;
  #writer = new SocketWriter();
  /** There is no stream yet: what is written waits. */
  #isOpening = false;
  #whenOpen: (() => void) | undefined;
  #isReferenced = true;
  /** The program has seen the end of the peer, and has written since. */
  #writesAfterEnd = false;
  /** The stream is lost: nothing arrives after what has arrived, and nothing is sent. */
  #loss: Error | undefined;

  /** Not connected: connect() of this module, and servers, make sockets that are. */
  constructor(options?: FabricSocketOptions & FabricOptions) {
    const checked = checkConnectOptions(options) as Partial<ConnectOptions>;
    const { allowHalfOpen = false, signal, highWaterMark } = checked;
    const { readableHighWaterMark = highWaterMark ?? 1, writableHighWaterMark = highWaterMark } =
      checked;
    super({
      allowHalfOpen,
      emitClose: false, // close() emits it, with its argument
      // One batch is read at a time, in one piece.
      readableHighWaterMark,
      ...(writableHighWaterMark !== undefined && { writableHighWaterMark }),
    });
    this.#options = checked;
    this.#reader = this.#newReader();
    if (signal !== undefined) addAbortSignal(signal, this); // it may destroy the socket at once
  }

  /** @internal Joins a stream that the peer has opened. */
  static accepted(
    session: SocketSession,
    stream: number,
    options: FabricSocketOptions,
  ): FabricSocket {
    const socket = new FabricSocket(options);
    socket.#holdLoop();
    socket.stream.accept(session, stream);
    return socket;
  }

  /**
   * Connects, with the arguments of net.Socket's connect() and the options of connect() of this module. The options of
   * the constructor apply too. A socket that was destroyed may connect again.
   */
  connect(...args: unknown[]): this {
    const [given, listener] = connectArguments(args);
    if (listener) this.once('connect', listener);
    if (this.connecting || (this.stream.session !== undefined && !this.destroyed)) return this;
    const { provider, driver, node, heartbeat, nics, require, tls, connectTimeout } = this.#options;
    const own = { provider, driver, node, heartbeat, nics, require, tls, connectTimeout };
    const dial = () => sessionTo({ ...own, ...given } as ConnectOptions, this);
    const opening = dial();
    if (this.destroyed) this.#renew();
    return this.openFrom(opening, dial);
  }

  /**
   * @internal Opens a stream of the session that will be found.
   *
   * @param again finds another session, if the first one takes no more sockets.
   */
  openFrom(opening: Promise<SocketSession>, again?: () => Promise<SocketSession>): this {
    this.#opens();
    this.joinCall();
    this.#timeout.refresh();
    this.stream.openFrom(opening, again);
    return this;
  }

  /** @internal Opens a stream of a session. `again`: as for openFrom(). */
  open(session: SocketSession, again?: () => Promise<SocketSession>): this {
    this.#opens();
    this.stream.open(session, again);
    return this;
  }

  #opens(): void {
    this.connecting = this.#isOpening = !this.destroyed;
    this.#holdLoop();
  }

  /** @internal From now on, events belong to the async context of the caller. */
  joinCall(): void {
    this.stream.joinCall();
  }

  // A destroyed socket becomes a new one.
  #renew(): void {
    (this as unknown as { _undestroy(): void })._undestroy();
    this.stream.leave();
    this.#writer = new SocketWriter();
    this.#reader = this.#newReader();
    this.#isReferenced = true;
    this.#writesAfterEnd = false;
    this.#loss = this.#whenOpen = undefined;
  }

  #newReader(): SocketReader {
    return new SocketReader(this, this.stream, this.#options.onread, {
      active: () => this.#timeout.refresh(),
      ended: () => this.#holdLoop(),
    });
  }

  // As in node:net, a socket whose peer has ended holds the loop only while a write waits.
  #holdLoop(): void {
    const isIdle = this.destroyed || (this.#reader.hasEnded && !this.#writer.isBusy);
    this.stream.hold(this.#isReferenced && !isIdle);
  }

  #lost(error: Error, isWhole: boolean, isUnread: boolean): void {
    if (this.destroyed || this.#loss) return;
    // As in node:net, a socket whose peer has ended before learns of the loss by its next write.
    if (this.#isOpening || (!isWhole && (this.readableEnded || this.#reader.isUnread))) {
      this.destroy(error);
      return;
    }
    this.#loss = isWhole ? connectionError('EPIPE', 'the peer is gone', 'write') : error;
    // A peer that has answered does not read the rest. The program gets its last bytes and its end, as over TCP, which takes
    // more of such a write.
    const isAnswered = this.#reader.hasArrived && !this.#writesAfterEnd;
    const isIgnored = isWhole && isUnread && this.#writer.isBusy && isAnswered;
    const afterEnd = () => (isIgnored ? this.destroy() : this.#failWriter());
    if (this.readableEnded) afterEnd();
    else if (isWhole) this.once('end', afterEnd);
    if (!isIgnored || !this.readableFlowing) this.#failWriter();
    this.#reader.lose(this.#loss);
  }

  #accepted(): void {
    if (this.destroyed) return;
    this.#isOpening = false;
    this.#timeout.refresh();
    this.connected();
    this.#whenOpen?.();
    this.#whenOpen = undefined;
    const fallback = this.stream.session?.fallback;
    if (fallback) emitApart(this, 'fallback', fallback);
    if (this.destroyed) return;
    this.#sendUnsent();
    this.#reader.opened();
  }

  /** @internal It has reached the peer, which may not have accepted it yet. */
  connected(): void {
    if (!this.connecting) return;
    this.connecting = false;
    emitApart(this, 'connect');
    emitApart(this, 'ready');
  }

  // A writer does not fail before what has arrived is delivered: its error would destroy the socket. If the program reads
  // nothing at the moment, it may wait for this writer.
  #failWriter(): void {
    if (!this.#writer.isBusy || this.#loss === undefined) return;
    if (this.readableFlowing && !this.readableEnded) return;
    this.#writer.fail(this.#loss);
  }

  /** @internal */
  override _read(): void {
    this.#reader.want(this.#isOpening);
  }

  override read(size?: number): unknown {
    this.#reader.resume(); // as in node:net, also within the callback of onread
    return super.read(size);
  }

  override pause(): this {
    this.#reader.pause();
    super.pause();
    if (this.#loss) process.nextTick(() => this.#failWriter());
    return this;
  }

  override resume(): this {
    this.#reader.resume();
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
    const error = codedError('EPIPE', 'This socket has been ended by the other party');
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
    if (!this.#isOpening && this.stream.session === undefined) {
      done(socketClosed());
      return;
    }
    this.#writer.begin(chunks, done);
    this.#writesAfterEnd = this.readableEnded;
    // What the stream counts are the bytes at the time of write().
    if (this.#writer.length !== this.writableLength) this.#abandon(bytesGone());
    else if (!this.#isOpening) this.#sendUnsent();
    this.#writer.keepContext();
    this.#holdLoop();
  }

  // Never waits for the peer's reader while the session has room for the bytes.
  #sendUnsent(): void {
    if (!this.#writer.isBusy || this.stream.session === undefined) return;
    if (this.#loss) {
      this.#failWriter();
      return;
    }
    this.#timeout.refresh();
    const error = this.#writer.drain((bytes, from) => this.stream.write(bytes, from));
    if (error) this.#abandon(error);
    this.#holdLoop();
  }

  // Bytes are missing in the middle, so that the peer must not take the end for a proper one.
  #abandon(error: Error): void {
    this.stream.reset();
    this.#writer.fail(error);
  }

  /** @internal */
  override _final(done: Done): void {
    if (this.#isOpening || !this.stream.isOpen) {
      this.#whenOpen = () => this._final(done);
      return;
    }
    this.stream.end();
    done();
    this.once('finish', () => this.#reader.readAhead());
  }

  /** @internal */
  override _destroy(error: Error | null, done: Done): void {
    const wasConnecting = this.#isOpening;
    this.connecting = this.#isOpening = false;
    this.#timeout.stop();
    this.stream.destroy(this.#reader.holdsBytes);
    this.#isReferenced = false;
    this.#holdLoop();
    this.#writer.fail(
      wasConnecting
        ? codedError(
            'ERR_SOCKET_CLOSED_BEFORE_CONNECTION',
            'Socket closed before the connection was established',
          )
        : (error ?? codedError('ERR_STREAM_PREMATURE_CLOSE', 'Premature close')),
    );
    this.stream.run(() => done(error));
    // As in node:net, whoever waits for 'end' can wait for 'close' after it.
    const later = this.stream.session === undefined ? process.nextTick : setImmediate;
    later(() => this.stream.run(() => this.emit('close', error !== null)));
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
    if (this.destroyed || !this.stream.isOpen) return this.destroy(socketClosed());
    this.stream.reset();
    return this.destroy();
  }

  /** Emits 'timeout' after so many milliseconds without activity. 0: never. */
  setTimeout(milliseconds: number, listener?: () => void): this {
    if (this.destroyed) return this;
    const limit = checkTimeout(milliseconds);
    if (listener !== undefined && typeof listener !== 'function')
      throw invalidArgType('callback', 'a function', listener);
    this.timeout = limit;
    this.#timeout.set(limit);
    if (listener === undefined) return this;
    if (limit === 0) this.off('timeout', listener);
    else this.once('timeout', listener);
    return this;
  }

  /** Does nothing: what is written in one turn of the event loop travels together, and at once. */
  setNoDelay(_noDelay?: boolean): this {
    return this;
  }

  /** Does nothing: the session has heartbeats. */
  setKeepAlive(_enable?: boolean, _initialDelay?: number): this {
    return this;
  }

  /** Lets the socket keep the event loop alive. It does until unref(). */
  ref(): this {
    if (this.destroyed) return this;
    this.#isReferenced = true;
    this.#holdLoop();
    return this;
  }

  /** Lets the event loop end although the socket is open. */
  unref(): this {
    this.#isReferenced = false;
    this.#holdLoop();
    return this;
  }

  /** Whether it is not connected yet, or not any more. */
  get pending(): boolean {
    return this.connecting || (!this.stream.isOpen && !this.#isOpening);
  }

  /** As in node:net. */
  get readyState(): 'opening' | 'open' | 'readOnly' | 'writeOnly' | 'closed' {
    if (this.connecting) return 'opening';
    if (this.readable && this.writable) return 'open';
    if (this.readable) return 'readOnly';
    return this.writable ? 'writeOnly' : 'closed';
  }

  /** The bytes that were read. */
  get bytesRead(): number {
    return this.#reader.bytesRead;
  }

  /** The bytes that were written, including those that wait. */
  get bytesWritten(): number {
    return this.#writer.accepted + this.bufferSize;
  }

  /** The bytes that wait to be accepted. */
  get bufferSize(): number {
    const { waiting, length } = this.#writer;
    return waiting + (this.writableLength - length); // the stream still counts the chunks that _write() has got
  }
}
