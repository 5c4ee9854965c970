// A TCP server that waits for one client, or for one after another. Other
// processes may connect too. They do not delay the client.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { MOST_CONNECTIONS, UnidentifiedConnections } from './unidentified-connections.js';

const MOST_VISITORS = 256;
/** Milliseconds after which a visitor that does not answer gives way to another one. */
const TURN = 1000;

/** The object that wraps a visitor's connection. */
export interface Visitor {
  /** Ends the connection. */
  destroy(reason: Error): void;
}

/** Where a server listens, and for how long its visitors stay. */
export interface VisitorsOptions {
  /** 0 for any free port. */
  readonly port: number;
  /** Undefined for every address of this host. */
  readonly host?: string | undefined;
  /** Milliseconds in which a visitor must prove to be the client. */
  readonly lifetime: number;
  /** Ends the wait for the client. */
  readonly signal?: AbortSignal | undefined;
  /** Does not keep the process alive. */
  readonly unref?: boolean;
  /** Called with the reason why a visitor is not the client, and with its address. */
  readonly dismissed?: (address: string, reason: Error) => void;
}

/** How a visitor proves to be the client. */
export interface Proof<V, T> {
  /** Resolves when the visitor has sent the first bytes of a client. It must have no side effects. */
  readonly begins: (visitor: V) => Promise<unknown>;
  /** Runs the handshake with the visitor. If it succeeds, the visitor is the client. */
  readonly meets: (visitor: V) => Promise<T>;
  /** How many handshakes may run at a time. Default: 1. */
  readonly atOnce?: number;
}

/** The visitors of a server, one of which is its client. */
export class Visitors<V extends Visitor> {
  readonly port: number;
  readonly #server: Server;
  readonly #options: VisitorsOptions;
  readonly #unidentified: UnidentifiedConnections;
  readonly #present = new Map<Socket, V>();
  readonly #dismissed = new WeakSet<Socket>();
  readonly #addresses = new WeakMap<Socket, string>(); // a closed socket has none
  #visit: ((visitor: V, socket: Socket) => void) | undefined;
  #fail: ((reason: unknown) => void) | undefined;
  #closed: unknown;

  /** Listens. Throws the error of the system, or the signal's reason. */
  static async listen<V extends Visitor>(
    wrap: (socket: Socket) => V,
    options: VisitorsOptions,
  ): Promise<Visitors<V>> {
    const { port, host, signal, unref } = options;
    const server = createServer({ pauseOnConnect: true });
    server.maxConnections = MOST_CONNECTIONS;
    server.listen({ port, ...(host !== undefined && { host }) });
    await once(server, 'listening', { ...(signal && { signal }) }).catch((error) => {
      server.close();
      signal?.throwIfAborted();
      throw error;
    });
    if (unref) server.unref();
    return new Visitors(server, wrap, options);
  }

  private constructor(server: Server, wrap: (socket: Socket) => V, options: VisitorsOptions) {
    this.#server = server;
    this.#options = options;
    this.port = (server.address() as AddressInfo).port;
    this.#unidentified = new UnidentifiedConnections({
      most: MOST_VISITORS,
      lifetime: options.lifetime,
    });
    server.on('connection', (socket: Socket) => {
      if (options.unref) socket.unref();
      const visitor = wrap(socket);
      this.#unidentified.add(socket);
      this.#present.set(socket, visitor);
      this.#addresses.set(socket, `${socket.remoteAddress?.replace(/^::ffff:/, '')}`);
      socket.once('close', () => this.#present.delete(socket));
      this.#visit?.(visitor, socket);
    });
    options.signal?.addEventListener('abort', this.#abort);
  }

  readonly #abort = () => this.close(this.#options.signal?.reason);

  /** The first visitor that begins as a client does. It stays a visitor. */
  arrival(begins: Proof<V, unknown>['begins']): Promise<V> {
    return this.#eachUntilFound((found) => (visitor) => {
      begins(visitor).then(() => found(visitor), ignored);
    });
  }

  /**
   * The client, and the result of its handshake. All others remain visitors. Throws the reason if the server closes
   * meanwhile.
   */
  async client<T>({ begins, meets, atOnce = 1 }: Proof<V, T>): Promise<readonly [V, T]> {
    const waiting: (readonly [V, Socket])[] = [];
    const meeting = new Map<Socket, { readonly visitor: V; late: boolean }>();
    let over = false;
    type Met = readonly [Socket, V, T];
    const [socket, visitor, value] = await this.#eachUntilFound<Met>((found) => {
      const meet = async (visitor: V, socket: Socket) => {
        const turn = { visitor, late: false };
        meeting.set(socket, turn);
        const timer = setTimeout(() => {
          turn.late = true;
          next();
        }, TURN).unref();
        try {
          found([socket, visitor, await meets(visitor)]);
          over = true;
        } catch (error) {
          this.#dismiss(socket, visitor, error as Error);
        }
        clearTimeout(timer);
        meeting.delete(socket);
        next();
      };
      const next = () => {
        if (over) return;
        while (meeting.size < atOnce && waiting.length > 0) {
          void meet(...(waiting.shift() as [V, Socket]));
        }
        if (waiting.length === 0) return;
        for (const [socket, { visitor, late }] of meeting) {
          if (late) this.#dismiss(socket, visitor, new Error('it does not answer'));
        }
      };
      return (visitor, socket) => {
        begins(visitor).then(
          () => {
            waiting.push([visitor, socket]);
            next();
          },
          (error) => this.#dismiss(socket, visitor, error),
        );
      };
    });
    this.#present.delete(socket);
    this.#unidentified.recognize(socket);
    return [visitor, value];
  }

  /** Stops listening, and disconnects the visitors. A pending wait for the client ends with the reason. */
  close(reason: unknown = new Error('the server has its client')): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    this.#options.signal?.removeEventListener('abort', this.#abort);
    this.#server.close();
    for (const visitor of this.#present.values()) visitor.destroy(reason as Error);
    this.#fail?.(reason);
  }

  // Calls a function with every visitor, present and future, until one is found.
  async #eachUntilFound<T>(
    start: (found: (value: T) => void) => (visitor: V, socket: Socket) => void,
  ): Promise<T> {
    if (this.#closed !== undefined) throw this.#closed;
    try {
      return await new Promise<T>((found, fail) => {
        this.#fail = fail;
        this.#visit = start(found);
        for (const [socket, visitor] of this.#present) this.#visit(visitor, socket);
      });
    } finally {
      this.#visit = this.#fail = undefined;
    }
  }

  #dismiss(socket: Socket, visitor: V, reason: Error): void {
    if (this.#visit === undefined || this.#dismissed.has(socket)) return;
    this.#dismissed.add(socket);
    this.#present.delete(socket);
    visitor.destroy(reason);
    this.#options.dismissed?.(this.#addresses.get(socket) ?? 'a process', reason);
  }
}

const ignored = () => {};
