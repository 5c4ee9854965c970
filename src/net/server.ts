import { EventEmitter } from 'node:events';
import {
  type BlockList,
  createServer as createTcpServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import { getDefaultHighWaterMark } from 'node:stream';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { checkAnySignal, offAbort, onAbort } from '../base/abort-signals.js';
import { CallContext, inThisContext } from '../base/async-context.js';
import { checkOptions, namesOf } from '../base/checks.js';
import { emitApart } from '../base/emit-apart.js';
import { invalidArgType } from '../base/errors.js';
import { CONNECT_TIMEOUT } from './connect.js';
import { isBlocked } from './control-connection.js';
import { codedError, numberOf } from './errors.js';
import { checkFabricOptions } from './fabric-options.js';
import { FabricSocket } from './fabric-socket.js';
import { MessageSocket, type MessageSocketOptions } from './message-socket.js';
import { addressesOf } from './peer-info.js';
import { type FabricOptions, Ports } from './ports.js';
import { checkLimits, ServerSessions, type SessionLimits } from './server-sessions.js';
import { warnOf } from './session.js';
import type { FabricSocketOptions } from './socket-options.js';
import { Mode, type SocketSession } from './stream.js';

/** Options of a {@link FabricServer}. */
export interface ServerOptions
  extends Pick<FabricSocketOptions, 'allowHalfOpen' | 'highWaterMark'>,
    Omit<MessageSocketOptions, 'signal'>,
    SessionLimits,
    FabricOptions {
  /** Options of tls.createServer(): sessions are then agreed over TLS. */
  readonly tls?: TlsOptions;
  /** Whether new sockets are paused, as in node:net. */
  readonly pauseOnConnect?: boolean;
  /** Of the control connections, as in node:net. */
  readonly keepAlive?: boolean;
  readonly keepAliveInitialDelay?: number;
  /** Has no effect, as in connect(). */
  readonly noDelay?: boolean;
  /** Clients with these addresses are refused, with the event 'drop'. */
  readonly blockList?: BlockList;
}

const NAMES = namesOf<ServerOptions>({
  allowHalfOpen: 1,
  highWaterMark: 1,
  pauseOnConnect: 1,
  keepAlive: 1,
  keepAliveInitialDelay: 1,
  noDelay: 1,
  blockList: 1,
  maxMessageLength: 1,
  engine: 1,
  provider: 1,
  driver: 1,
  node: 1,
  heartbeat: 1,
  nics: 1,
  require: 1,
  tls: 1,
  maxSessions: 1,
  admit: 1,
  agreementTimeout: 1,
});

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
  /** The context of listen(). */
  #context = new CallContext();
  #isClosing = false;
  #hasClosed = false;

  constructor(options: ServerOptions = {}, listener?: (socket: FabricSocket) => void) {
    super();
    this.#options = checkServerOptions(options);
    if (typeof listener === 'function') this.on('connection', listener);
    this.#sessions = new ServerSessions(
      this.#options,
      (...opened) => this.#context.run(() => this.#opened(...opened)),
      () => this.#closeIfIdle(),
    );
    this.#listener = listenerFor(this.#options);
    const { tls } = this.#options;
    this.#listener.on(tls ? 'secureConnection' : 'connection', (control) => this.#agree(control));
    this.#listener.on('listening', () => {
      if (this.#options.provider !== undefined) this.#openPorts();
    });
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
    const last: unknown = args.at(-1);
    const hasListener = typeof last === 'function';
    const [first, ...others] = (hasListener ? args.slice(0, -1) : args) as unknown[];
    const { signal, ...place } = Object(first) as ListenOptions;
    checkAnySignal(signal);
    // node:net checks the arguments. A signal closes the server, and not only its listener.
    const where = signal === undefined ? first : place;
    (this.#listener.listen as (...args: unknown[]) => Server)(where, ...others);
    this.#context = new CallContext();
    this.#isClosing = this.#hasClosed = false;
    if (hasListener) this.once('listening', last as () => void);
    if (signal !== undefined) this.#closeWith(signal);
    return this;
  }

  #closeWith(signal: AbortSignal): void {
    const close = () => void this.close();
    if (signal.aborted) process.nextTick(close);
    else {
      onAbort(signal, close);
      this.once('close', () => offAbort(signal, close));
    }
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
    const { listening } = this;
    if (typeof callback === 'function')
      this.once(
        'close',
        inThisContext(() => {
          if (listening) callback();
          else callback(codedError('ERR_SERVER_NOT_RUNNING', 'Server is not running.'));
        }),
      );
    this.#isClosing = true;
    this.#listener.close(); // also a listen() that waits for the address of a host
    if (!listening) process.nextTick(() => this.#closeIfIdle(true));
    this.#sessions.close();
    return this;
  }

  /** Closes the server: `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.listening) return;
    await new Promise<void>((resolve) => this.close(() => resolve()));
  }

  #agree(control: Socket): void {
    control.on('error', () => {}); // a client that goes away is no error of the server
    if (isBlocked(control, this.#options.blockList)) {
      control.destroy();
      this.emit('drop', addressesOf(control));
      return;
    }
    control.setNoDelay(true);
    this.#sessions.agree(control, () => this.#isClosing);
  }

  #opened(session: SocketSession, stream: number, mode: number): void {
    const most = this.maxConnections ?? Number.POSITIVE_INFINITY;
    if (this.#isClosing) {
      session.answer(stream, numberOf('ECONNREFUSED'));
    } else if (this.#sockets.size >= most) {
      // As in node:net, the client connects, and the connection ends.
      session.answer(stream, 0);
      session.destroy(stream);
      emitApart(this, 'drop', addressesOf(session.control));
    } else if (mode === Mode.Bytes) {
      this.#acceptBytes(session, stream);
    } else if (mode === Mode.Messages && this.listenerCount('messages') > 0) {
      this.#acceptMessages(session, stream);
    } else {
      session.answer(stream, numberOf('EPROTONOSUPPORT'));
    }
  }

  #acceptBytes(session: SocketSession, stream: number): void {
    const { allowHalfOpen = false, pauseOnConnect = false, highWaterMark } = this.#options;
    const socket = FabricSocket.accepted(session, stream, {
      allowHalfOpen: Boolean(allowHalfOpen),
      ...(highWaterMark !== undefined && { highWaterMark }),
    });
    session.answer(stream, 0);
    socket.server = this;
    this.#keep(socket);
    if (pauseOnConnect) socket.pause();
    emitApart(this, 'connection', socket);
    if (!pauseOnConnect) socket.read(0);
  }

  #acceptMessages(session: SocketSession, stream: number): void {
    session.answer(stream, 0);
    const socket = MessageSocket.accepted(session, stream, this.#options);
    this.#keep(socket);
    emitApart(this, 'messages', socket);
  }

  #keep(socket: FabricSocket | MessageSocket): void {
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#closeIfIdle();
    });
  }

  /** @param again a server that does not listen emits 'close' for each close(), as in node:net. */
  #closeIfIdle(again = false): void {
    if (!this.#isClosing || this.listening || (this.#hasClosed && !again)) return;
    if (this.#sockets.size > 0) return;
    this.#hasClosed = true;
    this.#context.run(() => emitApart(this, 'close'));
  }

  /** A listener that is an async function has failed, and captureRejections is on. */
  override [EventEmitter.captureRejectionSymbol](
    error: Error,
    event: string,
    socket: unknown,
  ): void {
    if (event === 'connection') (socket as FabricSocket).destroy(error);
    else this.emit('error', error);
  }
}

function checkServerOptions(options: ServerOptions | undefined): ServerOptions {
  const checked = checkOptions('options', options ?? undefined, NAMES);
  checkFabricOptions(checked);
  checkLimits(checked);
  const { highWaterMark } = checked;
  if (highWaterMark === undefined) return checked;
  if (typeof highWaterMark !== 'number')
    throw invalidArgType('options.highWaterMark', 'a number', highWaterMark);
  return highWaterMark >= 0
    ? checked
    : { ...checked, highWaterMark: getDefaultHighWaterMark(false) };
}

/** What accepts the control connections. node:net checks its options. */
function listenerFor(ofServer: ServerOptions): Server {
  const { tls, keepAlive, keepAliveInitialDelay, blockList, agreementTimeout } = ofServer;
  const options = {
    ...(keepAlive !== undefined && { keepAlive }),
    ...(keepAliveInitialDelay !== undefined && { keepAliveInitialDelay }),
    ...(blockList !== undefined && { blockList }),
  };
  const handshakeTimeout = agreementTimeout ?? CONNECT_TIMEOUT;
  return tls ? createTlsServer({ handshakeTimeout, ...options, ...tls }) : createTcpServer(options);
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
