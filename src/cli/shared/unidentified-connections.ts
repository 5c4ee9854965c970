// Connections of processes that have not identified themselves as clients. Any process can open them: a port scanner, a
// health check, a program that was given a wrong port. They use few resources of the server, and do not disturb its
// clients.
import type { Socket } from 'node:net';

/** The most connections of a server, identified or not. More are refused. */
export const MOST_CONNECTIONS = 1024;

const TOO_LATE = 'it has not identified itself in time';

/** Milliseconds for which a new connection stays open even if there are too many, so that it can identify itself. */
const MIN_LIFETIME = 250;

/** The limits of a server for unidentified connections. */
export interface UnidentifiedOptions {
  /** The most connections at a time. */
  readonly most: number;
  /** Milliseconds after which an unidentified connection is closed. */
  readonly lifetime: number;
}

interface Unidentified {
  readonly since: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * The connections of a server that are not identified as its clients'. Each has a limited lifetime. If there are too
 * many, those of the host with the most connections are closed: first those that have sent nothing, the oldest first.
 */
export class UnidentifiedConnections {
  readonly #options: UnidentifiedOptions;
  readonly #all = new Map<Socket, Unidentified>();
  readonly #seen = new WeakSet<Socket>();
  #sweeping = false;

  constructor(options: UnidentifiedOptions) {
    this.#options = options;
  }

  /** The number of unidentified connections. */
  get size(): number {
    return this.#all.size;
  }

  /**
   * Adds a connection, which must have a listener of errors, or restarts its lifetime. Removes it when it is closed.
   */
  add(socket: Socket, lifetime = this.#options.lifetime): void {
    if (socket.destroyed) return;
    this.recognize(socket);
    const timer = setTimeout(() => socket.destroy(new Error(TOO_LATE)), lifetime).unref();
    this.#all.set(socket, { since: performance.now(), timer });
    if (!this.#seen.has(socket)) socket.once('close', () => this.recognize(socket));
    this.#seen.add(socket);
    this.#sweepLater();
  }

  /** Removes a connection that has identified itself. */
  recognize(socket: Socket): void {
    clearTimeout(this.#all.get(socket)?.timer);
    this.#all.delete(socket);
  }

  // A burst of connections is accepted in one turn of the event loop, before any of them can be read. If the timer is
  // late, setImmediate() lets the loop read first.
  #sweepLater(): void {
    if (this.#sweeping || this.#all.size <= this.#options.most) return;
    this.#sweeping = true;
    const sweep = () => {
      this.#sweeping = false;
      this.#sweep();
      this.#sweepLater();
    };
    setTimeout(() => setImmediate(sweep), MIN_LIFETIME).unref();
  }

  #sweep(): void {
    const latest = performance.now() - MIN_LIFETIME;
    let excess = this.#all.size - this.#options.most;
    for (const socket of inOrder([...this.#all.keys()])) {
      if (excess-- <= 0) return;
      // Its bytes may not be read yet. If it has sent nothing, a later sweep closes it before those that have.
      if ((this.#all.get(socket)?.since ?? 0) > latest) continue;
      this.recognize(socket);
      socket.destroy(new Error('there are too many other connections'));
    }
  }
}

/** The sockets in the order in which they are closed. */
function* inOrder(sockets: readonly Socket[]): Generator<Socket> {
  const byHost = new Map<string, Socket[]>();
  const [silent, others] = [true, false].map((is) =>
    sockets.filter(({ bytesRead }) => (bytesRead === 0) === is),
  ) as [Socket[], Socket[]];
  for (const socket of [...silent, ...others]) {
    const host = socket.remoteAddress ?? '';
    const its = byHost.get(host);
    if (its) its.push(socket);
    else byHost.set(host, [socket]);
  }
  for (let left = sockets.length; left > 0; left--) {
    const most = [...byHost.values()].reduce((a, b) => (b.length > a.length ? b : a));
    yield most.shift() as Socket;
  }
}
