// A TCP server that waits for one client, or for one after another. Other
// processes may connect too. They do not delay the client.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { MOST_CONNECTIONS, UnidentifiedConnections } from './unidentified-connections.js';

const MOST_CANDIDATES = 256;
/** Milliseconds after which a candidate that does not answer gives way to another one. */
const TURN = 1000;

/** The object that wraps a candidate's connection. */
export interface Candidate {
  /** Ends the connection. */
  destroy(reason: Error): void;
}

/** Where a server listens, and for how long its candidates stay. */
export interface CandidatesOptions {
  /** 0 for any free port. */
  readonly port: number;
  /** Undefined for every address of this host. */
  readonly host?: string | undefined;
  /** Milliseconds in which a candidate must prove to be the client. */
  readonly lifetime: number;
  /** Ends the wait for the client. */
  readonly signal?: AbortSignal | undefined;
  /** Does not keep the process alive. */
  readonly unref?: boolean;
  /** Called with the reason why a candidate is not the client, and with its address. */
  readonly dismissed?: (address: string, reason: Error) => void;
}

/** How a candidate proves to be the client. */
export interface Proof<V, T> {
  /** Resolves when the candidate has sent the first bytes of a client. It must have no side effects. */
  readonly begins: (candidate: V) => Promise<unknown>;
  /** Runs the handshake with the candidate. If it succeeds, the candidate is the client. */
  readonly meets: (candidate: V) => Promise<T>;
  /** How many handshakes may run at a time. Default: 1. */
  readonly atOnce?: number;
}

/** The candidates of a server, one of which is its client. */
export class Candidates<V extends Candidate> {
  readonly port: number;
  readonly #server: Server;
  readonly #options: CandidatesOptions;
  readonly #unidentified: UnidentifiedConnections;
  readonly #present = new Map<Socket, V>();
  readonly #dismissed = new WeakSet<Socket>();
  readonly #addresses = new WeakMap<Socket, string>(); // a closed socket has none
  #consider: ((candidate: V, socket: Socket) => void) | undefined;
  #fail: ((reason: unknown) => void) | undefined;
  #closed: unknown;

  /** Listens. Throws the error of the system, or the signal's reason. */
  static async listen<V extends Candidate>(
    wrap: (socket: Socket) => V,
    options: CandidatesOptions,
  ): Promise<Candidates<V>> {
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
    return new Candidates(server, wrap, options);
  }

  private constructor(server: Server, wrap: (socket: Socket) => V, options: CandidatesOptions) {
    this.#server = server;
    this.#options = options;
    this.port = (server.address() as AddressInfo).port;
    this.#unidentified = new UnidentifiedConnections({
      most: MOST_CANDIDATES,
      lifetime: options.lifetime,
    });
    server.on('connection', (socket: Socket) => {
      if (options.unref) socket.unref();
      const candidate = wrap(socket);
      this.#unidentified.add(socket);
      this.#present.set(socket, candidate);
      this.#addresses.set(socket, `${socket.remoteAddress?.replace(/^::ffff:/, '')}`);
      socket.once('close', () => this.#present.delete(socket));
      this.#consider?.(candidate, socket);
    });
    options.signal?.addEventListener('abort', this.#abort);
  }

  readonly #abort = () => this.close(this.#options.signal?.reason);

  /** The first candidate that begins as a client does. It stays a candidate. */
  arrival(begins: Proof<V, unknown>['begins']): Promise<V> {
    return this.#eachUntilFound((found) => (candidate) => {
      begins(candidate).then(() => found(candidate), ignored);
    });
  }

  /**
   * The client, and the result of its handshake. All others remain candidates. Throws the reason if the server closes
   * meanwhile.
   */
  async client<T>({ begins, meets, atOnce = 1 }: Proof<V, T>): Promise<readonly [V, T]> {
    const waiting: (readonly [V, Socket])[] = [];
    const meeting = new Map<Socket, { readonly candidate: V; late: boolean }>();
    let over = false;
    type Met = readonly [Socket, V, T];
    const [socket, candidate, value] = await this.#eachUntilFound<Met>((found) => {
      const meet = async (candidate: V, socket: Socket) => {
        const turn = { candidate, late: false };
        meeting.set(socket, turn);
        const timer = setTimeout(() => {
          turn.late = true;
          next();
        }, TURN).unref();
        try {
          found([socket, candidate, await meets(candidate)]);
          over = true;
        } catch (error) {
          this.#dismiss(socket, candidate, error as Error);
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
        for (const [socket, { candidate, late }] of meeting) {
          if (late) this.#dismiss(socket, candidate, new Error('it does not answer'));
        }
      };
      return (candidate, socket) => {
        begins(candidate).then(
          () => {
            waiting.push([candidate, socket]);
            next();
          },
          (error) => this.#dismiss(socket, candidate, error),
        );
      };
    });
    this.#present.delete(socket);
    this.#unidentified.recognize(socket);
    return [candidate, value];
  }

  /** Stops listening, and disconnects the candidates. A pending wait for the client ends with the reason. */
  close(reason: unknown = new Error('the server has its client')): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    this.#options.signal?.removeEventListener('abort', this.#abort);
    this.#server.close();
    for (const candidate of this.#present.values()) candidate.destroy(reason as Error);
    this.#fail?.(reason);
  }

  // Calls a function with every candidate, present and future, until one is found.
  async #eachUntilFound<T>(
    start: (found: (value: T) => void) => (candidate: V, socket: Socket) => void,
  ): Promise<T> {
    if (this.#closed !== undefined) throw this.#closed;
    try {
      return await new Promise<T>((found, fail) => {
        this.#fail = fail;
        this.#consider = start(found);
        for (const [socket, candidate] of this.#present) this.#consider(candidate, socket);
      });
    } finally {
      this.#consider = this.#fail = undefined;
    }
  }

  #dismiss(socket: Socket, candidate: V, reason: Error): void {
    if (this.#consider === undefined || this.#dismissed.has(socket)) return;
    this.#dismissed.add(socket);
    this.#present.delete(socket);
    candidate.destroy(reason);
    this.#options.dismissed?.(this.#addresses.get(socket) ?? 'a process', reason);
  }
}

const ignored = () => {};
