import { connect as connectTcp, type NetConnectOpts, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { checkMilliseconds, checkObject } from '../base/checks.js';
import { Trace } from '../base/trace.js';
import type { NetSessionState } from '../diagnostics/net-state.js';
import { agree, FABRIC_TERMS, newSession, type Role, TERMS } from './agreement.js';
import { type ConnectTraceMessage, tracedConnects } from './channels.js';
import { checkConnection } from './check-connection.js';
import { connectionError } from './errors.js';
import { FabricSocket, type FabricSocketOptions } from './fabric-socket.js';
import { MessageSocket, type MessageSocketOptions } from './message-socket.js';
import { type FabricOptions, Ports } from './ports.js';
import { Session, warnOf } from './session.js';

/** Where to connect to, and how. */
export interface ConnectOptions extends FabricSocketOptions, FabricOptions {
  readonly host?: string;
  readonly port: number;
  /** Options of tls.connect(), if the server listens with TLS. */
  readonly tls?: ConnectionOptions;
  /** Milliseconds for the connection and the agreement. Default: 5000. */
  readonly connectTimeout?: number;
  /** Milliseconds without activity until the socket emits 'timeout'. */
  readonly timeout?: number;
}

/** Milliseconds for a connection and an agreement. */
export const CONNECT_TIMEOUT = 5000;

// The sessions that connect() of this thread has opened, by what they were opened with.
const sessions = new Map<string, Promise<Session>>();

/** Options of connect() for a {@link MessageSocket}. */
export interface MessageConnectOptions
  extends Omit<ConnectOptions, keyof FabricSocketOptions | 'timeout'>,
    MessageSocketOptions {
  readonly mode: 'messages';
}

/** Connects to a server of this module. Sockets to the same server share a session. */
export function connect(options: MessageConnectOptions, listener?: () => void): MessageSocket;
export function connect(options: ConnectOptions, listener?: () => void): FabricSocket;
export function connect(
  options: ConnectOptions | MessageConnectOptions,
  listener?: () => void,
): FabricSocket | MessageSocket {
  if ('mode' in options && options.mode === 'messages') {
    const messages = new MessageSocket(options).connect(sessionTo(options));
    return listener ? messages.once('connect', listener) : messages;
  }
  const { timeout } = options as ConnectOptions;
  const connector = (port: unknown = options.port, host: unknown = options.host) =>
    sessionTo({
      ...options,
      port: Number(port),
      ...(host !== undefined && { host: String(host) }),
    });
  const socket = FabricSocket.to(connector, options as ConnectOptions);
  if (timeout !== undefined) socket.setTimeout(timeout);
  return listener ? socket.connect(listener) : socket.connect();
}

/** Turns a connection into a socket of a session. Both sides call it. */
export async function upgrade(
  connection: Duplex,
  options: FabricSocketOptions & FabricOptions & { readonly timeout?: number } = {},
): Promise<FabricSocket> {
  checkConnection(connection);
  const { timeout = CONNECT_TIMEOUT } = checkObject('options', options);
  checkMilliseconds('options.timeout', timeout);
  const until = performance.now() + timeout;
  const session = await meet(connection, options, timeout, 'either');
  session.isOfOneSocket = true;
  if (session.opens) {
    session.start();
    return new FabricSocket(options).open(session);
  }
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => session.fail(connectionError('ETIMEDOUT', `no socket within ${timeout} ms`)),
      until - performance.now(),
    );
    session.onEnd = (error) => {
      clearTimeout(timer);
      reject(error);
    };
    session.opened = (stream) => {
      clearTimeout(timer);
      session.onEnd = session.opened = undefined;
      const socket = FabricSocket.accepted(session, stream, options);
      session.answer(stream, 0);
      resolve(socket);
      // The peer may end, although nobody reads.
      setImmediate(() => socket.isPaused() || socket.read(0));
    };
    session.start();
  });
}

function sessionTo(options: ConnectOptions): Promise<Session> {
  const { host = 'localhost', port, tls } = options;
  const { provider, driver, node, nics, heartbeat, require } = options;
  // Options of TLS may have functions and keys, which cannot be compared.
  if (tls !== undefined) return openOfOneSocket(options);
  const key = JSON.stringify([host, port, provider, driver, node, nics, heartbeat, require]);
  const known = sessions.get(key);
  if (known !== undefined) return known;
  const forget = () => {
    if (sessions.get(key) === opening) sessions.delete(key);
  };
  const opening = openTraced(options, forget);
  sessions.set(key, opening);
  opening.catch(forget);
  return opening;
}

async function openOfOneSocket(options: ConnectOptions): Promise<Session> {
  const session = await openTraced(options);
  session.isOfOneSocket = true;
  return session;
}

function openTraced(options: ConnectOptions, ended: () => void = () => {}): Promise<Session> {
  if (!tracedConnects.hasSubscribers) return open(options, ended);
  const { host = 'localhost', port, provider } = options;
  const message = { host, port, provider };
  const trace = new Trace<NetSessionState, ConnectTraceMessage>(tracedConnects, message);
  const opening = open(options, ended);
  trace.returned();
  opening.then(
    (session) => trace.succeeded(session.state()),
    (error) => trace.failed(error),
  );
  return opening;
}

async function open(options: ConnectOptions, ended: () => void): Promise<Session> {
  const { host = 'localhost', port, tls, connectTimeout = CONNECT_TIMEOUT } = options;
  const until = performance.now() + connectTimeout;
  const control = await connected(
    tls ? connectTls({ host, port, ...tls }) : connectTcp({ host, port } as NetConnectOpts),
    tls ? 'secureConnect' : 'connect',
    connectTimeout,
  );
  control.setNoDelay(true);
  try {
    const session = await meet(control, options, Math.max(1, until - performance.now()));
    session.onEnd = ended;
    session.start();
    return session;
  } catch (error) {
    control.destroy();
    throw error;
  }
}

/** Agrees on a session over a connection. The caller starts it. */
export async function meet(
  control: Duplex,
  options: FabricOptions,
  timeout: number,
  role: Role = 'client',
): Promise<Session> {
  const number = newSession();
  const { ports, failure } = await portsFor(options, number);
  try {
    const terms = ports ? { ...FABRIC_TERMS, packetSize: ports.packetSize } : TERMS;
    const agreement = await agree(control, {
      session: number,
      terms,
      role,
      fabric: ports,
      timeout,
    });
    const { fabric } = agreement;
    if (ports && fabric?.provider === ports.provider) {
      const links = await ports.meet(fabric.addresses);
      return new Session(control, agreement, { ports, links, require: options.require });
    }
    const fallback =
      failure ?? (ports && connectionError('EPROTONOSUPPORT', 'the peer does not use this fabric'));
    if (fallback && options.require === 'fabric') throw fallback;
    if (fallback) warnOf(fallback);
    letGo(ports, number);
    return new Session(control, agreement, { fallback });
  } catch (error) {
    letGo(ports, number);
    throw error;
  }
}

/** The endpoints for a new session, or why there are none. */
async function portsFor(
  options: FabricOptions,
  session: number,
): Promise<{ ports?: Ports; failure?: Error }> {
  if (options.provider === undefined) return {};
  let ports: Ports;
  try {
    ports = await Ports.take(options);
  } catch (error) {
    return { failure: error as Error };
  }
  if (ports.expect(session, FABRIC_TERMS.allowance)) return { ports };
  ports.release();
  return { failure: connectionError('ENOBUFS', 'the endpoint has no room for more sessions') };
}

function letGo(ports: Ports | undefined, session: number): void {
  ports?.leave(session);
  ports?.release();
}

function connected(control: Socket, event: string, timeout: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const detail = `no connection within ${timeout} ms`;
      control.destroy(connectionError('ETIMEDOUT', detail, 'connect'));
    }, timeout);
    const onError = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    control.once('error', onError);
    control.once(event, () => {
      clearTimeout(timer);
      control.off('error', onError);
      resolve(control);
    });
  });
}
