// A TCP connection between two sides of this package. Each side detects at once that the peer has exited, and gets the
// peer's figures. There is no such connection if the peer is fabtests.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Candidates, type CandidatesOptions } from '../../shared/candidates.js';
import { FrameError, JsonLink } from '../../shared/json-link.js';
import { PeerGone } from './oob.js';

/** A note to the peer, the sizes of a benchmark, the reason why this side ends early, or the token from the server's address message. */
type Message =
  | { readonly note: unknown }
  | { readonly sizes: readonly number[] }
  | { readonly ended: string }
  | { readonly token: string };

const MAX_BYTES = 4 << 20; // of a message
/** Bytes of a first message: the addresses of many NICs. */
const MAX_FIRST_BYTES = 256 << 10;
const CONNECT_TIMEOUT = 1000; // milliseconds: a firewall may drop the packets
const CANDIDATE_LIFETIME = 10_000; // milliseconds

/** Listens for processes that may be the client. */
export const linkCandidates = (options: CandidatesOptions): Promise<Candidates<PeerLink>> =>
  Candidates.listen((socket) => new PeerLink(socket, MAX_FIRST_BYTES), options);

/** The server's end until its client connects. */
export class PeerListener {
  readonly port: number;
  /** The token that the client must send. */
  readonly token = randomBytes(8).readBigUInt64LE();
  readonly #candidates: Candidates<PeerLink>;
  readonly #accepted: Promise<void>;
  #link: PeerLink | undefined;

  private constructor(candidates: Candidates<PeerLink>) {
    this.#candidates = candidates;
    this.port = candidates.port;
    const begins = (link: PeerLink) => link.sendsToken(this.token);
    this.#accepted = candidates.client({ begins, meets: begins }).then(
      ([link]) => {
        candidates.close();
        link.recognize();
        this.#link = link;
      },
      () => {}, // closed before
    );
  }

  static async open(): Promise<PeerListener> {
    const where = { port: 0, lifetime: CANDIDATE_LIFETIME, unref: true };
    return new PeerListener(await linkCandidates(where));
  }

  /** Waits for the client. A client that can reach the port connects as soon as it has the number. */
  async accept(): Promise<void> {
    const late = new AbortController();
    const waiting = sleep(CONNECT_TIMEOUT, undefined, late).catch(() => {});
    await Promise.race([this.#accepted, waiting]);
    late.abort();
  }

  /** The connection, once the client has made it. */
  get link(): PeerLink | undefined {
    return this.#link;
  }

  close(): void {
    this.#candidates.close();
    this.#link?.close();
  }
}

/** One end of the connection. */
export class PeerLink {
  readonly #socket: Socket;
  readonly #link: JsonLink<Message, Message>;
  #known: Promise<Message | undefined> | undefined;
  #maxBytes: number;
  #ended: string | undefined;
  #sizes: readonly number[] | undefined;
  #peerSizes: string | undefined;

  constructor(socket: Socket, maxBytes = MAX_BYTES) {
    this.#socket = socket;
    this.#maxBytes = maxBytes;
    this.#link = new JsonLink<Message, Message>(socket, {
      maxBytes: () => this.#maxBytes,
      onMessage: (message) => {
        if ('note' in message || 'token' in message) return false;
        if ('sizes' in message) this.#peerSizes = String(message.sizes);
        else if ('ended' in message) this.#ended ??= String(message.ended);
        else throw new FrameError('a message without a note');
        return true;
      },
    });
  }

  /** The client's end; undefined if the server cannot be reached. */
  static async connect(host: string, port: number, token: bigint): Promise<PeerLink | undefined> {
    const socket = connect({ host, port });
    socket.setTimeout(CONNECT_TIMEOUT, () => socket.destroy());
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT) });
    } catch {
      socket.destroy();
      return undefined;
    }
    socket.setTimeout(0);
    const link = new PeerLink(socket.unref());
    link.#link.send({ token: String(token) });
    return link;
  }

  /** The local address that the peer sees. */
  get localAddress(): string | undefined {
    return this.#socket.localAddress?.replace(/^::ffff:/, '');
  }

  /** Resolves when the peer has sent a message of this package. Throws why there is none. */
  async begins(): Promise<void> {
    await this.#link.arrival();
    if (this.#link.waiting > 0 || this.#ended !== undefined) return;
    throw this.#foreignness();
  }

  /** Resolves if the peer's first message is this token. Throws if it is not. */
  async sendsToken(token: bigint): Promise<void> {
    this.#known ??= this.#link.receive();
    const message = await this.#known;
    if (message && 'token' in message && message.token === String(token)) return;
    throw message ? new Error('it has not sent the token of this server') : this.#foreignness();
  }

  #foreignness(): Error {
    return this.foreign ? new Error('it speaks another protocol') : (this.#link.ended as Error);
  }

  /** The process is the peer: it may send more. */
  recognize(): void {
    this.#maxBytes = MAX_BYTES;
  }

  /** Ends the connection when the reason has been sent, whatever the peer does. */
  destroy(reason: Error): void {
    this.close(reason.message);
    this.#socket.destroySoon();
  }

  /** Lets this process exit while the connection is open. */
  unref(): void {
    this.#socket.unref();
  }

  /** The reason why the peer has ended. Undefined while it runs. */
  get ended(): string | undefined {
    return this.#ended ?? (this.#link.ended && 'its connection closed without a reason');
  }

  /** Tells the peer which sizes this side measures: their number, the least and the most bytes. */
  announce(sizes: readonly [count: number, least: number, most: number]): void {
    this.#sizes = sizes;
    this.#link.send({ sizes });
  }

  /** Why the sides cannot measure together; undefined as far as is known. */
  get disagreement(): string | undefined {
    if (this.#sizes === undefined || this.#peerSizes === undefined) return undefined;
    if (String(this.#sizes) === this.#peerSizes) return undefined;
    const [count, least, most] = this.#sizes;
    const own = count === 1 ? `${least} bytes` : `${count} sizes of ${least} to ${most} bytes`;
    return `this side measures ${own}, and the peer other sizes; give both the same -S`;
  }

  /** Resolves when the connection is closed. */
  get closed(): Promise<unknown> {
    return this.#link.closed;
  }

  /** Resolves when the connection is closed, or after so many milliseconds. */
  async closedWithin(milliseconds: number): Promise<void> {
    const timer = new AbortController();
    const late = sleep(milliseconds, undefined, { signal: timer.signal }).catch(() => {});
    await Promise.race([this.closed, late]);
    timer.abort();
  }

  /** Whether the peer has sent bytes that no side of this package sends. */
  get foreign(): boolean {
    return this.#link.ended instanceof FrameError;
  }

  /** Sends a note to the peer. */
  send(note: unknown): void {
    this.#link.send({ note });
  }

  /** The peer's next note; undefined if it has ended. */
  async receive(): Promise<unknown> {
    const message = (await this.#link.receive()) as { readonly note: unknown } | undefined;
    return message?.note;
  }

  /**
   * The peer's next note. Throws PeerGone if it has ended or sends nothing for this many seconds.
   */
  async expect(seconds = Number.POSITIVE_INFINITY): Promise<unknown> {
    const message = await this.#link.receive(seconds * 1000);
    if (message !== undefined && 'note' in message) return message.note;
    if (this.ended !== undefined) throw new PeerGone(`the peer has ended: ${this.ended}`);
    throw new PeerGone(`the peer has not answered for ${seconds} s`);
  }

  /**
   * The first note. `program` names the expected peer. Throws PeerGone as expect() does, with a hint about
   * the port.
   */
  async expectFirst(program: string, seconds: number): Promise<unknown> {
    try {
      return await this.expect(seconds);
    } catch (error) {
      if (this.foreign) throw new PeerGone(`the process that connected is not ${program}`);
      if (this.ended !== undefined || !(error instanceof PeerGone)) throw error;
      throw new PeerGone(
        `${error.message}; if another program listens on that port, give both sides -E=PORT`,
      );
    }
  }

  /** Ends the connection, with a reason if the test has not finished. */
  close(reason = 'it has finished'): void {
    this.#ended ??= reason;
    this.#link.send({ ended: reason });
    this.#link.end();
  }
}
