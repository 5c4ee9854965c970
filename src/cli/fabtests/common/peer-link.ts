// A TCP connection between two sides of this package: each sees at once when the other ends, and
// hears what it has measured. Between this package and fabtests there is none.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { FrameError, JsonLink } from '../../shared/json-link.js';
import { PeerGone } from './oob.js';

/** Something to tell, or why a side ends before the test does. */
type Message = { readonly note: unknown } | { readonly ended: string };

const MAX_BYTES = 4 << 20; // of a message
const CONNECT_TIMEOUT = 1000; // milliseconds: a firewall may be in between

/** The server's end before its client has come. */
export class PeerListener {
  readonly #server: Server;
  readonly port: number;
  #link: PeerLink | undefined;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as { port: number }).port;
    server.on('connection', (socket) => {
      if (this.#link) socket.destroy();
      else this.#link = new PeerLink(socket.unref());
    });
  }

  static async open(): Promise<PeerListener> {
    const server = createServer();
    server.listen(0);
    await once(server, 'listening');
    server.unref();
    return new PeerListener(server);
  }

  /** Waits for the connection, which the client makes as soon as it knows of this end, if it can. */
  async accept(): Promise<void> {
    if (this.#link) return;
    const signal = AbortSignal.timeout(CONNECT_TIMEOUT);
    await once(this.#server, 'connection', { signal }).catch(() => {});
  }

  /** The connection, once the client has made it. */
  get link(): PeerLink | undefined {
    return this.#link;
  }

  close(): void {
    this.#server.close();
    this.#link?.close();
  }
}

/** One end of the connection. */
export class PeerLink {
  readonly #link: JsonLink<Message, Message>;
  #ended: string | undefined;

  constructor(socket: Socket) {
    this.#link = new JsonLink<Message, Message>(socket, {
      maxBytes: () => MAX_BYTES,
      onMessage: (message) => {
        if (!('ended' in message)) return false;
        this.#ended ??= String(message.ended);
        return true;
      },
    });
  }

  /** The client's end; undefined where the server can't be reached. */
  static async connect(host: string, port: number): Promise<PeerLink | undefined> {
    const socket = connect({ host, port });
    socket.setTimeout(CONNECT_TIMEOUT, () => socket.destroy());
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT) });
    } catch {
      socket.destroy();
      return undefined;
    }
    socket.setTimeout(0);
    return new PeerLink(socket.unref());
  }

  /** Why the other side has ended, once it has. */
  get ended(): string | undefined {
    return this.#ended ?? (this.#link.ended && 'it has ended without a word');
  }

  /** Whether the other end has sent what no side of this package sends. */
  get foreign(): boolean {
    return this.#link.ended instanceof FrameError;
  }

  /** Tells the other side something. */
  tell(note: unknown): void {
    this.#link.send({ note });
  }

  /** What the other side tells next; undefined when it has ended. */
  async hear(): Promise<unknown> {
    const message = (await this.#link.receive()) as { readonly note: unknown } | undefined;
    return message?.note;
  }

  /** The same. Throws PeerGone when the other side has ended, or tells nothing for so many seconds. */
  async expect(seconds = Number.POSITIVE_INFINITY): Promise<unknown> {
    const message = await this.#link.receive(seconds * 1000);
    if (message !== undefined && 'note' in message) return message.note;
    if (this.ended !== undefined) throw new PeerGone(`the other side has ended: ${this.ended}`);
    throw new PeerGone(`the other side has not answered for ${seconds} s`);
  }

  /** Ends the connection, with a reason where the test has not come to its end. */
  close(reason = 'it has finished'): void {
    this.#ended ??= reason;
    this.#link.send({ ended: reason });
    this.#link.end();
  }
}
