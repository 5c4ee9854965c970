import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { throwLater } from '../base/throw-later.js';
import type { NetSessionState, NetSocketState } from '../diagnostics/net-state.js';
import type { Sender } from '../transfer/peer-at.js';
import { connectionError, errorOfPeer, numberOf } from './errors.js';
import { addressesOf } from './peer-info.js';
import type { SocketSession, StreamOwner } from './stream.js';

/** The number of its only stream. */
const STREAM = 1;
/** ms for what was written to leave, after the socket was destroyed. */
const LINGER = 30_000;

export interface PlainOptions {
  /** Whether this side opens the stream. */
  readonly opens: boolean;
  /** Why the fabric is not used, although the program asked for it. */
  readonly fallback?: Error | undefined;
  /** Milliseconds until the peer must have opened or accepted the stream. Undefined: the peer knows nothing of streams. */
  readonly timeout?: number;
}

/**
 * A connection whose bytes are those of one socket, because one of the sides has no native code for packets. The side that
 * opens the socket sends one byte, its mode. The peer answers with one byte, the error number, 0 if it accepts.
 */
export class PlainSession implements SocketSession {
  readonly control: Duplex;
  readonly opens: boolean;
  readonly fallback: Error | undefined;
  readonly path = 'control';
  opened: ((stream: number, mode: number) => void) | undefined;
  onRetire: (() => void) | undefined;
  stranger: Sender | undefined;
  onEnd: ((error: Error) => void) | undefined;
  isOfOneSocket = true;
  endsWhenIdle = false; // it ends with its socket
  readonly #asksMode: boolean;
  readonly #timer: NodeJS.Timeout | undefined;
  #owner: StreamOwner | undefined;
  #error: Error | undefined;
  #mode = 0;
  #isClaimed = false;
  #isOpen = false;
  #hasPeerEnded = false;
  /** What did not fit into the memory of takeInto(). */
  #rest: Buffer | undefined;
  #references = 0;
  #isLeaving = false;

  constructor(control: Duplex, { opens, fallback, timeout }: PlainOptions) {
    this.control = control;
    this.opens = opens;
    this.fallback = fallback;
    this.#asksMode = timeout !== undefined;
    if (timeout !== undefined)
      this.#timer = setTimeout(
        () => this.fail(connectionError('ETIMEDOUT', `no socket within ${timeout} ms`, 'connect')),
        timeout,
      );
    control.allowHalfOpen = true; // the socket decides
    control.on('error', (error) => this.fail(error));
    control.on('close', () => this.fail(connectionError('ECONNRESET', 'the peer is gone', 'read')));
    control.on('drain', () => this.#owner?.writable());
  }

  /** Takes the connection for a socket. Returns false if another one has it. */
  claim(): boolean {
    const isFree = !this.#isClaimed;
    this.#isClaimed = true;
    return isFree;
  }

  start(): void {
    this.control.on('end', () => {
      this.#hasPeerEnded = true;
      if (this.#isOpen) this.#owner?.readable();
      else this.fail(connectionError('ECONNRESET', 'the connection ended', 'read'));
    });
    this.control.on('readable', () => this.#readable());
  }

  get error(): Error | undefined {
    return this.#error;
  }

  open(owner: StreamOwner, mode: number): number {
    this.#owner = owner;
    this.#mode = mode;
    if (this.#asksMode) this.control.write(Buffer.of(mode));
    else process.nextTick(() => this.#accepted());
    return STREAM;
  }

  adopt(_stream: number, owner: StreamOwner): void {
    this.#owner = owner;
  }

  answer(_stream: number, errno: number): void {
    this.control.write(Buffer.of(errno));
    if (errno === 0) this.#isOpen = true;
    else this.#leave();
  }

  #readable(): void {
    if (this.#error) return;
    if (this.#isOpen) {
      this.#owner?.readable();
      return;
    }
    const first: Buffer | null = this.#asksMode ? this.control.read(1) : null;
    if (first === null) return;
    clearTimeout(this.#timer);
    const [value = 0] = first;
    if (!this.opens) this.#openedByPeer(value);
    else if (value === 0) this.#accepted();
    else this.#refused(value);
  }

  #openedByPeer(mode: number): void {
    this.#mode = mode;
    if (!this.opened) {
      this.answer(STREAM, numberOf('ECONNREFUSED'));
      return;
    }
    try {
      this.opened(STREAM, mode);
    } catch (error) {
      throwLater(error); // of a listener of the program
    }
    if (this.#isOpen) this.#owner?.readable();
  }

  #accepted(): void {
    if (this.#error) return;
    this.#isOpen = true;
    this.#owner?.accepted();
    this.#owner?.readable(); // what has come with the answer
  }

  #refused(errno: number): void {
    const owner = this.#owner;
    this.#owner = undefined;
    this.fail(errorOfPeer(errno, 'connect'));
    owner?.refused(errno);
  }

  write(_stream: number, bytes: Uint8Array, from: number): number {
    const { control } = this;
    if (control.writableNeedDrain || control.writableEnded || control.destroyed) return 0;
    control.write(Buffer.from(bytes.subarray(from))); // the caller may change its bytes
    return bytes.length - from;
  }

  take(): Buffer | null | undefined {
    const bytes: Buffer | null = this.#rest ?? this.control.read();
    this.#rest = undefined;
    return bytes ?? (this.#hasPeerEnded ? null : undefined);
  }

  takeInto(_stream: number, into: Uint8Array, from: number): number {
    const bytes = this.take();
    if (!bytes) return bytes === null ? -1 : 0;
    const taken = Math.min(bytes.length, into.length - from);
    into.set(bytes.subarray(0, taken), from);
    if (taken < bytes.length) this.#rest = bytes.subarray(taken);
    return taken;
  }

  end(): void {
    this.control.end();
  }

  destroy(_stream: number, isCut = false): void {
    this.#owner = undefined;
    if (this.#isOpen) this.#leave(isCut);
    else this.control.destroy();
  }

  // What was written still leaves. With a reset if the peer's bytes were not all taken, or if `isCut`.
  #leave(isCut = false): void {
    const { control } = this;
    if (control.destroyed || this.#isLeaving) return;
    this.#isLeaving = true;
    this.#holdLoop();
    const timer = setTimeout(() => control.destroy(), LINGER).unref();
    control.once('close', () => clearTimeout(timer));
    const isReset = isCut || this.#rest !== undefined || control.readableLength > 0;
    if (isReset && !control.writableEnded) control.write('', () => this.#reset());
    else control.end(() => control.destroy());
  }

  reset(): void {
    this.#owner = undefined;
    this.#reset();
  }

  #reset(): void {
    const { control } = this;
    if (control instanceof Socket && !(control instanceof TLSSocket)) control.resetAndDestroy();
    else control.destroy();
  }

  hold(change: 1 | -1): void {
    this.#references += change;
    this.#holdLoop();
  }

  #holdLoop(): void {
    const control = this.control as Partial<Pick<NodeJS.Timeout, 'ref' | 'unref'>>;
    if (this.#references > 0 || this.#isLeaving) control.ref?.();
    else control.unref?.();
  }

  /** Ends a connection that no socket uses. */
  release(): void {
    if (!this.#owner) this.control.destroy();
  }

  retire(): void {}

  close(): void {
    this.release();
  }

  fail(error: Error): void {
    if (this.#error) return;
    this.#error = error;
    clearTimeout(this.#timer);
    this.control.destroy();
    this.onEnd?.(error);
    const owner = this.#owner;
    this.#owner = undefined;
    owner?.lost(error, this.#hasPeerEnded, false);
  }

  state(): NetSessionState {
    const { remoteAddress, remotePort } = addressesOf(this.control);
    return {
      number: 0,
      remoteAddress: remoteAddress ?? null,
      remotePort: remotePort ?? null,
      path: this.path,
      fallback: this.fallback?.message ?? null,
      control: this.#error ? 'lost' : 'open',
      nics: [],
      unacknowledged: 0,
      socketCount: this.#owner ? 1 : 0,
      sockets: this.#owner ? [this.socketState()] : [],
    };
  }

  socketState(): NetSocketState {
    const { readableLength: unread, writableLength: unsent } = this.control;
    const waitsFor = unsent > 0 ? 'window' : unread > 0 ? 'reader' : null;
    const mode = this.#mode === 0 ? 'bytes' : 'messages';
    return { mode, waitsFor, unsent, window: 0, unread };
  }
}
