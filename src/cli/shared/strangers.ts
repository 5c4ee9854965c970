// Connections of processes that have not shown yet what they want. Any process can open them: a port scanner, a health check,
// a program that was given a wrong port. They cost a server little, and its clients nothing.
import type { Socket } from 'node:net';

/** The most connections of a server, known or not. More are refused. */
export const MOST_CONNECTIONS = 1024;

const LATE = 'it has not shown in time what it wants';

/** Milliseconds that a new connection has in any case, in which it may show what it wants. */
const GRACE = 250;

/** How many strangers a server tolerates, and how long. */
export interface StrangersOptions {
  /** The most at a time. */
  readonly most: number;
  /** Milliseconds after which a stranger is disconnected. */
  readonly lifetime: number;
}

interface Stranger {
  readonly since: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * The connections of a server that are not known to be its clients'. Each has a limited time. If there are too many,
 * the oldest are disconnected: first those that have sent nothing, of the host with most of them.
 */
export class Strangers {
  readonly #options: StrangersOptions;
  readonly #all = new Map<Socket, Stranger>();
  readonly #seen = new WeakSet<Socket>();
  #sweeping = false;

  constructor(options: StrangersOptions) {
    this.#options = options;
  }

  /** The number of strangers. */
  get size(): number {
    return this.#all.size;
  }

  /** Adds a connection, which must have a listener of errors, or gives it more time. It leaves when it ends. */
  add(socket: Socket, lifetime = this.#options.lifetime): void {
    if (socket.destroyed) return;
    this.recognize(socket);
    const timer = setTimeout(() => socket.destroy(new Error(LATE)), lifetime).unref();
    this.#all.set(socket, { since: performance.now(), timer });
    if (!this.#seen.has(socket)) socket.once('close', () => this.recognize(socket));
    this.#seen.add(socket);
    this.#sweepLater();
  }

  /** Takes a connection out: it is known now. */
  recognize(socket: Socket): void {
    clearTimeout(this.#all.get(socket)?.timer);
    this.#all.delete(socket);
  }

  // A burst of connections is accepted in one turn of the event loop, before any of them could be read. If the loop was
  // late, setImmediate() lets it read first.
  #sweepLater(): void {
    if (this.#sweeping || this.#all.size <= this.#options.most) return;
    this.#sweeping = true;
    const sweep = () => {
      this.#sweeping = false;
      this.#sweep();
      this.#sweepLater();
    };
    setTimeout(() => setImmediate(sweep), GRACE).unref();
  }

  #sweep(): void {
    const latest = performance.now() - GRACE;
    let excess = this.#all.size - this.#options.most;
    for (const socket of inOrder([...this.#all.keys()])) {
      if (excess-- <= 0) return;
      // What it has sent may not be read yet. If it has sent nothing, a later sweep takes it before those that have.
      if ((this.#all.get(socket)?.since ?? 0) > latest) continue;
      this.recognize(socket);
      socket.destroy(new Error('too many others connect'));
    }
  }
}

/** The sockets in the order in which they are given up. */
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
