// Messages over a connection that exists: each has its length before it. A message is copied once, from what the socket has
// read into memory that belongs to its receiver.
import type { Socket } from 'node:net';
import { connectionError } from '../net/errors.js';
import type { Arriving } from './arriving.js';

/** Bytes at the beginning of each message, which the link fills: the length of what follows. */
export const HEADER = 4;

/** The longest answer. */
export const MAX_ANSWER = 32 * 1024 * 1024;
/** The longest request: a short object, or the list of the 10,000 parts of an upload. */
export const MAX_REQUEST = 2 * 1024 * 1024;

const KEEPALIVE = 15_000; // ms
const SLICE = 256 * 1024; // bytes that the peer must read within the limit of silence

/** What a link's owner learns. */
export interface LinkOwner {
  /** The bytes belong to the owner. */
  message(bytes: Buffer): void;
  /** It is called once, with the error of close(), if close() was called. */
  closed(error: Error | undefined): void;
}

export class Link {
  readonly #socket: Socket;
  readonly #owner: LinkOwner;
  readonly #longest: number;
  readonly #arriving: Arriving | undefined;
  readonly #header = Buffer.alloc(HEADER);
  #headed = 0; // bytes of the header that are there
  #message: Buffer | undefined;
  #filled = 0;
  #isClosed = false;
  #silence = 0; // ms, 0: without limit
  #isLimited = false;
  #hasMessage = false;
  #isPaused = false;
  #isFinishing = false;
  #unsent = 0; // messages
  #written = 0; // slices
  #checked = -1; // slices that were written when the last check was made
  #stall: NodeJS.Timeout | undefined;

  /**
   * @param longest the most bytes of a message.
   * @param arriving counts the bytes of messages that have not arrived whole, if the peer is a stranger.
   */
  constructor(socket: Socket, longest: number, owner: LinkOwner, arriving?: Arriving) {
    this.#arriving = arriving;
    this.#socket = socket;
    this.#longest = longest;
    this.#owner = owner;
    socket.setNoDelay(true);
    socket.setTimeout(0);
    socket.setKeepAlive(true, KEEPALIVE); // a machine that has died says nothing
    socket.on('error', (error) => this.#close(error));
    socket.on('close', () =>
      this.#close(connectionError('ECONNRESET', 'the peer is gone', 'read')),
    );
    socket.on('end', () => socket.destroy());
  }

  /** Begins to take messages. @param first what was read behind the head of the upgrade. */
  start(first: Buffer): void {
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    if (first.length > 0) this.#take(first);
  }

  /** Closes the link if the peer is silent before its first message, or within a message, or reads nothing. @param limit milliseconds. */
  limitSilence(limit: number): void {
    this.#silence = limit;
    this.#socket.on('timeout', () =>
      this.#close(connectionError('ETIMEDOUT', `no message within ${limit} ms`, 'read')),
    );
    this.#limit();
  }

  #limit(): void {
    const isWithin = this.#message !== undefined || this.#headed > 0;
    const isLimited = (isWithin || !this.#hasMessage) && !this.#isPaused;
    if (isLimited === this.#isLimited) return;
    this.#isLimited = isLimited;
    this.#socket.setTimeout(isLimited ? this.#silence : 0);
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  #close(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#stall);
    this.#arriving?.whole(this);
    this.#message = undefined;
    this.#socket.destroy();
    this.#owner.closed(error);
  }

  #take(chunk: Buffer): void {
    if (this.#isFinishing) return;
    for (let at = 0; at < chunk.length && !this.#isClosed; ) {
      if (this.#isPaused) {
        this.#socket.unshift(chunk.subarray(at));
        break;
      }
      if (this.#message === undefined) at += this.#takeHeader(chunk, at);
      else at += this.#fill(this.#message, chunk, at);
    }
    if (this.#message && !this.#isClosed) this.#arriving?.part(this, this.#filled);
    if (this.#silence > 0) this.#limit();
  }

  /** Ends the link, because messages of others need the memory of the one that arrives. */
  crowdedOut(): void {
    this.#close(connectionError('ENOBUFS', 'too many messages arrive at the same time', 'read'));
  }

  #takeHeader(chunk: Buffer, at: number): number {
    const taken = chunk.copy(this.#header, this.#headed, at, at + HEADER - this.#headed);
    this.#headed += taken;
    if (this.#headed < HEADER) return taken;
    this.#headed = 0;
    const length = this.#header.readUInt32LE(0);
    if (length === 0 || length > this.#longest)
      this.#close(connectionError('EMSGSIZE', `a message has ${length} bytes`, 'read'));
    else this.#message = Buffer.allocUnsafe(HEADER + length);
    this.#filled = HEADER;
    return taken;
  }

  #fill(message: Buffer, chunk: Buffer, at: number): number {
    const taken = chunk.copy(message, this.#filled, at, at + message.length - this.#filled);
    this.#filled += taken;
    if (this.#filled === message.length) {
      this.#message = undefined;
      this.#arriving?.whole(this);
      this.#hasMessage = true;
      this.#owner.message(message);
    }
    return taken;
  }

  /** Sends a message. @param done is called when its bytes may be changed. */
  send(message: Buffer, done?: () => void): void {
    if (this.#isClosed) return;
    message.writeUInt32LE(message.length - HEADER, 0);
    this.#unsent += 1;
    if (this.#silence > 0) this.#stall ??= setTimeout(this.#checkStall, this.#silence).unref();
    for (let at = 0; at < message.length; at += SLICE) {
      const isLast = at + SLICE >= message.length;
      this.#socket.write(message.subarray(at, at + SLICE), () => {
        this.#written += 1;
        if (!isLast) return;
        this.#unsent -= 1;
        done?.();
      });
    }
  }

  // What it sends does not count for a peer that reads nothing.
  readonly #checkStall = (): void => {
    this.#stall = undefined;
    if (this.#isClosed || this.#unsent === 0) return;
    if (this.#written === this.#checked) {
      this.#close(connectionError('ETIMEDOUT', 'the peer reads nothing', 'write'));
      return;
    }
    this.#checked = this.#written;
    this.#stall = setTimeout(this.#checkStall, this.#silence).unref();
  };

  /**
   * Sends a last message, and takes none. The peer closes the link when it has read it. With what it still sends unread, the
   * reset could overtake the message.
   *
   * @param limit milliseconds for the peer.
   */
  finish(message: Buffer, limit: number): void {
    this.send(message);
    this.#isFinishing = true;
    this.#arriving?.whole(this);
    this.#message = undefined;
    this.#socket.setTimeout(0);
    this.#socket.end();
    this.resume();
    clearTimeout(this.#stall);
    this.#stall = setTimeout(() => this.#close(undefined), limit).unref();
  }

  /** Reads no more until resume(). */
  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }

  close(error?: Error): void {
    this.#close(error);
  }
}
