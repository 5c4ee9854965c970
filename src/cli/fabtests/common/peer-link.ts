// A TCP connection between two sides of this package: each sees at once when the other ends, and
// hears what it has measured. Between this package and fabtests there is none.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** How a side says that it ends before the test does. */
export interface Farewell {
  readonly reason: string;
}

type Line = { readonly farewell: Farewell } | { readonly note: unknown };

const LONGEST_LINE = 4 << 20; // bytes
const PATIENCE = 1000; // milliseconds to connect: a firewall may be in between

/** The server's end before its client has come. */
export class CompanionListener {
  readonly #server: Server;
  readonly port: number;
  #companion: Companion | undefined;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as { port: number }).port;
    server.on('connection', (socket) => {
      if (this.#companion) socket.destroy();
      else this.#companion = new Companion(socket);
    });
  }

  static async open(): Promise<CompanionListener> {
    const server = createServer();
    server.listen(0);
    await once(server, 'listening');
    server.unref();
    return new CompanionListener(server);
  }

  /** Waits for the connection, which the client makes as soon as it knows of this end, if it can. */
  async accept(): Promise<void> {
    if (this.#companion) return;
    const signal = AbortSignal.timeout(PATIENCE);
    await once(this.#server, 'connection', { signal }).catch(() => {});
  }

  /** The connection, once the client has made it. */
  get companion(): Companion | undefined {
    return this.#companion;
  }

  close(): void {
    this.#server.close();
    this.#companion?.close();
  }
}

/** One end of the connection. */
export class Companion {
  readonly #socket: Socket;
  readonly #notes: unknown[] = [];
  #wake: (() => void) | undefined;
  #farewell: Farewell | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.unref();
    socket.on('error', () => {});
    const lines = createInterface({ input: socket });
    let unread = 0;
    socket.on('data', ({ length }: Buffer) => {
      unread += length;
      if (unread > LONGEST_LINE) socket.destroy();
    });
    lines.on('line', (text) => {
      unread = 0;
      this.#heard(text);
    });
    lines.on('error', () => {}); // it repeats the socket's
    socket.on('close', () => this.#end({ reason: 'it has ended without a word' }));
  }

  /** The client's end; undefined where the server can't be reached. */
  static async connect(host: string, port: number): Promise<Companion | undefined> {
    const socket = connect({ host, port });
    socket.setTimeout(PATIENCE, () => socket.destroy());
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(PATIENCE) });
    } catch {
      socket.destroy();
      return undefined;
    }
    socket.setTimeout(0);
    return new Companion(socket);
  }

  /** Why the other side has ended, once it has. */
  get farewell(): Farewell | undefined {
    return this.#farewell;
  }

  /** Tells the other side something. */
  tell(note: unknown): void {
    this.#write({ note });
  }

  /** What the other side tells next; undefined when it has ended. */
  async hear(): Promise<unknown> {
    if (this.#notes.length === 0 && this.#farewell === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#notes.shift();
  }

  /** Ends the connection, with a reason where the test has not come to its end. */
  close(farewell: Farewell = { reason: 'it has finished' }): void {
    if (this.#socket.destroyed) return;
    this.#farewell ??= farewell;
    this.#write({ farewell });
    this.#socket.end();
  }

  #write(line: Line): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(line)}\n`);
  }

  #heard(text: string): void {
    let line: Partial<{ farewell: Farewell; note: unknown }>;
    try {
      line = JSON.parse(text);
    } catch {
      return; // not of this package
    }
    if (line.farewell !== undefined) this.#end(line.farewell);
    else this.#notes.push(line.note);
    this.#wake?.();
  }

  #end(farewell: Farewell): void {
    this.#farewell ??= farewell;
    this.#wake?.();
  }
}
