import { EventEmitter } from 'node:events';
import {
  createServer as createTcpServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { CallContext, inThisContext } from '../base/async-context.js';
import { AGREEMENT_TIMEOUT, meet } from './connect.js';
import { numberOf } from './errors.js';
import { FabricSocket, type FabricSocketOptions } from './fabric-socket.js';
import { MessageSocket, type MessageSocketOptions } from './message-socket.js';
import { addressesOf } from './peer-info.js';
import { type FabricOptions, Ports } from './ports.js';
import type { Session } from './session.js';
import { Mode } from './stream.js';

/** Options of a {@link FabricServer}. */
export interface ServerOptions
  extends Pick<FabricSocketOptions, 'allowHalfOpen'>,
    Omit<MessageSocketOptions, 'signal'>,
    FabricOptions {
  /** Options of tls.createServer(): sessions are then agreed over TLS. */
  readonly tls?: TlsOptions;
  /** Whether new sockets are paused, as in node:net. */
  readonly pauseOnConnect?: boolean;
  /** The most sessions at the same time, one for each process of clients. Further ones are refused. Default: 1024. */
  readonly maxSessions?: number;
  /** Milliseconds for the agreement. Default: 30,000, because the event loop of a client may be busy. */
  readonly agreementTimeout?: number;
}

/** The arguments of listen(). */
export type ListenArguments =
  | [port?: number, host?: string, backlog?: number, listener?: () => void]
  | [port?: number, host?: string, listener?: () => void]
  | [port?: number, listener?: () => void]
  | [path: string, listener?: () => void]
  | [options: ListenOptions, listener?: () => void];

const MAX_SESSIONS = 1024;
const MAX_AGREEMENTS = 256; // at the same time

/**
 * Accepts sockets. It is used as a net.Server is. Sockets for messages arrive with the event `'messages'`; without a
 * listener for it, they are refused.
 */
export class FabricServer extends EventEmitter {
  /** The most sockets at the same time. Others are refused. */
  maxConnections: number | undefined;
  readonly #options: ServerOptions;
  readonly #listener: Server;
  readonly #sessions = new Set<Session>();
  readonly #sockets = new Set<FabricSocket | MessageSocket>();
  /** That of listen(). */
  #context = new CallContext();
  #agreements = 0;
  #isClosing = false;
  #hasClosed = false;

  constructor(options: ServerOptions = {}, listener?: (socket: FabricSocket) => void) {
    super();
    this.#options = options;
    if (listener) this.on('connection', listener);
    const { tls } = options;
    this.#listener = tls ? createTlsServer(tls) : createTcpServer();
    this.#listener.on(tls ? 'secureConnection' : 'connection', (control) => this.#agree(control));
    for (const event of ['listening', 'error', 'tlsClientError', 'drop']) {
      this.#listener.on(event, (...args) => this.#context.run(() => this.emit(event, ...args)));
    }
    this.#listener.on('close', () => this.#closeIfIdle());
  }

  /** Whether it listens. */
  get listening(): boolean {
    return this.#listener.listening;
  }

  /** The arguments are those of net.Server's listen(). */
  listen(...args: ListenArguments): this {
    this.#context = new CallContext();
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
      (error) => this.emit('error', error),
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
      if (this.listening) this.once('close', inThisContext(callback));
      else
        process.nextTick(
          callback,
          Object.assign(new Error('Server is not running.'), { code: 'ERR_SERVER_NOT_RUNNING' }),
        );
    }
    this.#isClosing = true;
    if (this.listening) this.#listener.close();
    for (const session of this.#sessions) session.close();
    return this;
  }

  /** Closes the server: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.listening) return;
    await new Promise<void>((resolve) => this.close(() => resolve()));
  }

  async #agree(control: Socket): Promise<void> {
    control.on('error', () => {}); // a client that goes away is no error of the server
    const { maxSessions = MAX_SESSIONS } = this.#options;
    const isFull = this.#sessions.size + this.#agreements >= maxSessions;
    if (isFull || this.#agreements >= MAX_AGREEMENTS) {
      control.destroy();
      return;
    }
    this.#agreements += 1;
    control.setNoDelay(true);
    try {
      const timeout = this.#options.agreementTimeout ?? AGREEMENT_TIMEOUT;
      const session = await meet(control, this.#options, timeout, 'server');
      session.onEnd = () => {
        this.#sessions.delete(session);
        this.#closeIfIdle();
      };
      session.opened = (stream, mode) =>
        this.#context.run(() => this.#opened(session, stream, mode));
      this.#sessions.add(session);
      session.start();
      if (this.#isClosing) session.close();
    } catch {
      control.destroy();
    } finally {
      this.#agreements -= 1;
    }
  }

  #opened(session: Session, stream: number, mode: number): void {
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

  #acceptBytes(session: Session, stream: number): void {
    const { allowHalfOpen = false, pauseOnConnect = false } = this.#options;
    const socket = FabricSocket.accepted(session, stream, { allowHalfOpen });
    session.answer(stream, 0);
    this.#keep(socket);
    if (pauseOnConnect) socket.pause();
    this.emit('connection', socket);
    if (!pauseOnConnect) socket.read(0);
  }

  #acceptMessages(session: Session, stream: number): void {
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
    this.#context.run(() => this.emit('close'));
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
