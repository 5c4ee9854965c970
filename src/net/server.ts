import { EventEmitter } from 'node:events';
import {
  createServer as createTcpServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { CONNECT_TIMEOUT } from './connect.js';
import { numberOf } from './errors.js';
import { FabricSocket, type FabricSocketOptions } from './fabric-socket.js';
import { MessageSocket, type MessageSocketOptions } from './message-socket.js';
import { addressesOf } from './peer-info.js';
import { type FabricOptions, Ports } from './ports.js';
import { ServerSessions, type SessionLimits } from './server-sessions.js';
import { warnOf } from './session.js';
import { Mode, type SocketSession } from './stream.js';

/** Options of a {@link FabricServer}. */
export interface ServerOptions
  extends Pick<FabricSocketOptions, 'allowHalfOpen'>,
    Omit<MessageSocketOptions, 'signal'>,
    SessionLimits,
    FabricOptions {
  /** Options of tls.createServer(): sessions are then agreed over TLS. */
  readonly tls?: TlsOptions;
  /** Whether new sockets are paused, as in node:net. */
  readonly pauseOnConnect?: boolean;
}

/** The arguments of listen(). */
export type ListenArguments =
  | [port?: number, host?: string, backlog?: number, listener?: () => void]
  | [port?: number, host?: string, listener?: () => void]
  | [port?: number, listener?: () => void]
  | [path: string, listener?: () => void]
  | [options: ListenOptions, listener?: () => void];

/**
 * Accepts sockets. It is used as a net.Server is. Sockets for messages arrive with the event `'messages'`; without a
 * listener for it, they are refused.
 */
export class FabricServer extends EventEmitter {
  /** The most sockets at the same time. Others are refused. */
  maxConnections: number | undefined;
  readonly #options: ServerOptions;
  readonly #listener: Server;
  readonly #sessions: ServerSessions;
  readonly #sockets = new Set<FabricSocket | MessageSocket>();
  #isClosing = false;
  #hasClosed = false;

  constructor(options: ServerOptions = {}, listener?: (socket: FabricSocket) => void) {
    super();
    this.#options = options;
    if (listener) this.on('connection', listener);
    const { tls } = options;
    this.#sessions = new ServerSessions(
      options,
      (session, stream, mode) => this.#opened(session, stream, mode),
      () => this.#closeIfIdle(),
    );
    const handshakeTimeout = options.agreementTimeout ?? CONNECT_TIMEOUT;
    this.#listener = tls ? createTlsServer({ handshakeTimeout, ...tls }) : createTcpServer();
    this.#listener.on(tls ? 'secureConnection' : 'connection', (control) => this.#agree(control));
    for (const event of ['listening', 'error', 'tlsClientError', 'drop']) {
      this.#listener.on(event, (...args) => {
        this.emit(event, ...args);
      });
    }
    this.#listener.on('close', () => this.#closeIfIdle());
  }

  /** Whether it listens. */
  get listening(): boolean {
    return this.#listener.listening;
  }

  /** The arguments are those of net.Server's listen(). */
  listen(...args: ListenArguments): this {
    this.#isClosing = this.#hasClosed = false;
    if (this.#options.provider !== undefined) this.#openPorts();
    (this.#listener.listen as (...args: unknown[]) => Server)(...args);
    return this;
  }

  // Opens the endpoints before the first client needs it.
  #openPorts(): void {
    const opening = Ports.take(this.#options);
    opening.then(
      (ports) => {
        if (this.#hasClosed) ports.release();
        else this.once('close', () => ports.release());
      },
      (error) => {
        if (this.#options.require === 'fabric') this.emit('error', error);
        else warnOf(error);
      },
    );
  }

  /** The address at which it listens. */
  address(): ReturnType<Server['address']> {
    return this.#listener.address();
  }

  /** Calls back with the number of open sockets. */
  getConnections(callback: (error: Error | null, count: number) => void): this {
    process.nextTick(callback, null, this.#sockets.size);
    return this;
  }

  /** Lets the server keep the event loop alive. It does until unref(). */
  ref(): this {
    this.#listener.ref();
    return this;
  }

  /** Lets the event loop end although the server listens. */
  unref(): this {
    this.#listener.unref();
    return this;
  }

  /** Accepts no more sockets. Emits 'close' when all have ended. */
  close(callback?: (error?: Error) => void): this {
    if (callback) {
      if (this.listening) this.once('close', callback);
      else
        process.nextTick(
          callback,
          Object.assign(new Error('Server is not running.'), { code: 'ERR_SERVER_NOT_RUNNING' }),
        );
    }
    this.#isClosing = true;
    if (this.listening) this.#listener.close();
    this.#sessions.close();
    return this;
  }

  /** Closes the server: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.listening) return;
    await new Promise<void>((resolve) => this.close(() => resolve()));
  }

  #agree(control: Socket): void {
    control.setNoDelay(true);
    this.#sessions.agree(control, () => this.#isClosing);
  }

  #opened(session: SocketSession, stream: number, mode: number): void {
    const most = this.maxConnections ?? Number.POSITIVE_INFINITY;
    if (this.#isClosing || this.#sockets.size >= most) {
      session.answer(stream, numberOf('ECONNREFUSED'));
      if (!this.#isClosing) this.emit('drop', addressesOf(session.control));
    } else if (mode === Mode.Bytes) {
      this.#acceptBytes(session, stream);
    } else if (mode === Mode.Messages && this.listenerCount('messages') > 0) {
      this.#acceptMessages(session, stream);
    } else {
      session.answer(stream, numberOf('EPROTONOSUPPORT'));
    }
  }

  #acceptBytes(session: SocketSession, stream: number): void {
    const { allowHalfOpen = false, pauseOnConnect = false } = this.#options;
    const socket = FabricSocket.accepted(session, stream, { allowHalfOpen });
    session.answer(stream, 0);
    this.#keep(socket);
    if (pauseOnConnect) socket.pause();
    this.emit('connection', socket);
    if (!pauseOnConnect) socket.read(0);
  }

  #acceptMessages(session: SocketSession, stream: number): void {
    session.answer(stream, 0);
    const socket = MessageSocket.accepted(session, stream, this.#options);
    this.#keep(socket);
    this.emit('messages', socket);
  }

  #keep(socket: FabricSocket | MessageSocket): void {
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#closeIfIdle();
    });
  }

  #closeIfIdle(): void {
    if (!this.#isClosing || this.listening || this.#hasClosed) return;
    if (this.#sockets.size > 0) return;
    this.#hasClosed = true;
    this.emit('close');
  }
}

/** Makes a server. `listener` gets its sockets. */
export function createServer(
  options: ServerOptions | ((socket: FabricSocket) => void) = {},
  listener?: (socket: FabricSocket) => void,
): FabricServer {
  return typeof options === 'function'
    ? new FabricServer({}, options)
    : new FabricServer(options, listener);
}
