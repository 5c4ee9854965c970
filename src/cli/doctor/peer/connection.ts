import type { Socket } from 'node:net';
import { ConnectError, connectTo } from '../../shared/connect.js';
import { JsonLink } from '../../shared/json-link.js';
import { type Message, PROTOCOL, plain } from './messages.js';

/** Why the peer cannot be reached over TCP. */
export type ReachKind =
  /** The name has no address. */
  | 'unknown-host'
  /** ICMP or the kernel reports that there is no route. */
  | 'no-route'
  /** No answer at all. */
  | 'dropped'
  /** The host refuses the connection: nothing listens. */
  | 'refused'
  /** Something other than the doctor listens there, or the doctor has exited. */
  | 'not-a-doctor'
  | 'failed';

export class ReachError extends Error {
  override readonly name = 'ReachError';
  readonly kind: ReachKind;

  constructor(kind: ReachKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

const KINDS: Readonly<Record<string, ReachKind>> = {
  ENOTFOUND: 'unknown-host',
  EAI_AGAIN: 'unknown-host',
  EHOSTUNREACH: 'no-route',
  ENETUNREACH: 'no-route',
  EHOSTDOWN: 'no-route',
  ENETDOWN: 'no-route',
  ETIMEDOUT: 'dropped',
  ECONNREFUSED: 'refused',
};

/** Connects to a listening doctor. Throws ReachError. */
export async function reach(host: string, port: number, milliseconds: number): Promise<Socket> {
  try {
    return await connectTo(host, port, { timeout: milliseconds, retries: () => false });
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const { code, message } = error;
    throw new ReachError(code === undefined ? 'dropped' : (KINDS[code] ?? 'failed'), message);
  }
}

/** Bytes of a message: an address and a few words. */
const LONGEST_MESSAGE = 16_384;
/** Messages that may wait to be received. The sides take turns, so there are never many. */
const MOST_UNREAD = 8;
/** Milliseconds for a refused peer to read why. */
const REFUSAL_TIMEOUT = 5000;

/** A connection to a peer, whose messages are received one after another. */
export class PeerConnection {
  readonly #link: JsonLink<Message, Message>;

  constructor(socket: Socket) {
    this.#link = new JsonLink<Message, Message>(socket, {
      maxBytes: () => LONGEST_MESSAGE,
      maxWaiting: MOST_UNREAD,
    });
  }

  /** Aborts when either side has closed the connection. */
  get over(): AbortSignal {
    return this.#link.signal;
  }

  send(message: Message): void {
    this.#link.send(message);
  }

  /** The next message, which must be of this kind. Throws ReachError. */
  async receive<K extends Message['kind']>(
    kind: K,
    milliseconds: number,
  ): Promise<Extract<Message, { kind: K }>> {
    const message = await this.#link.receive(milliseconds);
    if (message?.kind === kind) return message as Extract<Message, { kind: K }>;
    if (message?.kind === 'failed') throw new ReachError('failed', plain(message.message));
    if (message)
      throw new ReachError('not-a-doctor', 'it does not speak the protocol of the doctor');
    throw new ReachError('not-a-doctor', this.#link.ended?.message ?? 'it sends nothing');
  }

  /** Both sides send their version and domains. Returns the peer's domains. */
  async handshake(domains: readonly string[], milliseconds: number): Promise<readonly string[]> {
    this.send({ kind: 'hello', protocol: PROTOCOL, domains });
    const hello = await this.receive('hello', milliseconds);
    if (hello.protocol === PROTOCOL && Array.isArray(hello.domains))
      return hello.domains.map(plain);
    throw new ReachError('not-a-doctor', 'it is the doctor of another release of this package');
  }

  /**
   * Sends the reason, and closes the connection when the peer has read it. If the connection has unread bytes, closing
   * it at once would reset it, and the peer would not get the message.
   */
  refuse(message: string): void {
    if (this.over.aborted) return;
    this.send({ kind: 'failed', message });
    this.#link.end();
    const timer = setTimeout(() => this.close(), REFUSAL_TIMEOUT);
    this.over.addEventListener('abort', () => clearTimeout(timer));
  }

  close(): void {
    this.#link.destroy();
  }
}
