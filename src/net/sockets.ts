import type { Duplex } from 'node:stream';
import { checkAnySignal, offAbort, onAbort } from '../base/abort-signals.js';
import { inThisContext } from '../base/async-context.js';
import { checkMilliseconds, checkObject } from '../base/checks.js';
import type { Admit } from '../base/origin.js';
import { TimeLimit } from '../base/time-limit.js';
import { checkAdmit } from '../transfer/peer-options.js';
import { CONNECT_TIMEOUT, meet, sessionTo, timeLeft } from './connect.js';
import { abortedBy, connectionError } from './errors.js';
import { FabricSocket } from './fabric-socket.js';
import { MessageSocket, type MessageSocketOptions } from './message-socket.js';
import type { FabricOptions } from './ports.js';
import {
  type ConnectOptions,
  checkConnectOptions,
  connectArguments,
  type FabricSocketOptions,
} from './socket-options.js';
import { checkConnection, takeConnection } from './take-connection.js';

/** Options of connect() for a {@link MessageSocket}. */
export interface MessageConnectOptions
  extends Omit<ConnectOptions, keyof FabricSocketOptions | 'timeout' | 'noDelay'>,
    MessageSocketOptions {
  readonly mode: 'messages';
}

/** The arguments of connect(). */
export type ConnectArguments =
  | [options: ConnectOptions, listener?: () => void]
  | [port: number | string, host: string, listener?: () => void]
  | [port: number | string, listener?: () => void];

/**
 * Connects to a server of this module. Sockets to the same server share a session. The other forms of the arguments are
 * those of net.connect(): a port and a host, or a path.
 */
export function connect(options: MessageConnectOptions, listener?: () => void): MessageSocket;
export function connect(...args: ConnectArguments): FabricSocket;
export function connect(...args: unknown[]): FabricSocket | MessageSocket {
  const [options, listener] = connectArguments(args);
  if ((options as { mode?: unknown }).mode === 'messages')
    return connectMessages(options as MessageConnectOptions, listener);
  const socket = new FabricSocket(options);
  if (options.timeout) socket.setTimeout(options.timeout);
  return listener ? socket.connect(options, listener) : socket.connect(options);
}

function connectMessages(options: MessageConnectOptions, listener?: () => void): MessageSocket {
  const { maxMessageLength: _length, engine: _engine, ...others } = options;
  checkConnectOptions(others);
  const socket = new MessageSocket(options);
  const dial = () => sessionTo(options, socket);
  socket.connect(dial(), dial);
  return listener ? socket.once('connect', listener) : socket;
}

/** Options of {@link upgrade}. */
export interface UpgradeOptions extends FabricSocketOptions, FabricOptions {
  /** Milliseconds for the agreement. Default: 5000. */
  readonly timeout?: number;
  /**
   * Decides about a peer whose endpoints are on another host than the one that the connection comes from, also if that
   * cannot be known, and about each one of efa. If omitted, packets of the first travel over the connection.
   */
  readonly admit?: Admit;
}

/**
 * Turns a connection into a socket of a session. Both sides call it.
 *
 * @throws Error ERR_SOCKET_BAD_PROTOCOL if the peer sends something else, ETIMEDOUT, ECONNRESET, or ABORT_ERR. The
 * connection is then destroyed. ERR_INVALID_STATE if it is upgraded already.
 */
export async function upgrade(
  connection: Duplex,
  options: UpgradeOptions = {},
): Promise<FabricSocket> {
  checkConnection(connection);
  const { timeout = CONNECT_TIMEOUT, signal } = checkObject('options', options);
  checkMilliseconds('options.timeout', timeout);
  checkAdmit(options.admit);
  checkAnySignal(signal);
  takeConnection(connection);
  const abort = () => connection.destroy();
  if (signal?.aborted) abort();
  else if (signal) onAbort(signal, abort);
  try {
    return await upgraded(connection, options, timeout);
  } catch (error) {
    connection.destroy();
    throw signal?.aborted ? abortedBy(signal) : error;
  } finally {
    if (signal) offAbort(signal, abort);
  }
}

async function upgraded(
  connection: Duplex,
  options: UpgradeOptions,
  timeout: number,
): Promise<FabricSocket> {
  const until = performance.now() + timeout;
  const { admit } = options;
  const session = await meet(connection, options, timeout, { role: 'either', admit });
  session.isOfOneSocket = true;
  if (session.opens) {
    session.start();
    return new FabricSocket(options).open(session);
  }
  return new Promise((resolve, reject) => {
    const limit = new TimeLimit(timeLeft(until, timeout), () =>
      session.fail(connectionError('ETIMEDOUT', `no socket within ${timeout} ms`)),
    );
    session.onEnd = (error) => {
      limit.clear();
      reject(error);
    };
    session.opened = inThisContext((stream) => {
      limit.clear();
      session.onEnd = session.opened = undefined;
      const socket = FabricSocket.accepted(session, stream, options);
      session.answer(stream, 0);
      resolve(socket);
      // The peer may end, although nobody reads.
      setImmediate(() => socket.isPaused() || socket.read(0));
    });
    session.start();
  });
}
