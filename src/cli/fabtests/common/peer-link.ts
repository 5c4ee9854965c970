// A TCP connection between two sides of this package. It shows each side at once that the peer has
// ended, and carries what the peer measured. There is none if the peer is fabtests.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FrameError, JsonLink } from '../../shared/json-link.js';
import { PeerGone } from './oob.js';

/** A note to the peer, or why this side ends early. */
type Message = { readonly note: unknown } | { readonly ended: string };

const MAX_BYTES = 4 << 20; // of a message
const CONNECT_TIMEOUT = 1000; // milliseconds: a firewall may drop the packets

/** The server's end until its client connects. */
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

  /** Waits for the client. A client that can reach the port connects as soon as it knows it. */
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

  /** The client's end; undefined if the server cannot be reached. */
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

  /** Why the peer has ended; undefined while it runs. */
  get ended(): string | undefined {
    return this.#ended ?? (this.#link.ended && 'its connection closed without a reason');
  }

  /** Resolves when the connection has ended. */
  get closed(): Promise<unknown> {
    return this.#link.closed;
  }

  /** Resolves when the connection has ended, or after so many milliseconds. */
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
   * The first note. `program` is what the peer should be. Throws PeerGone as expect() does, with what
   * may be wrong with the port.
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
