import type { Duplex } from 'node:stream';
import { inThisContext } from '../base/async-context.js';
import { checkMilliseconds, checkObject } from '../base/checks.js';
import { TimeLimit } from '../base/time-limit.js';
import { checkConnection } from './check-connection.js';
import { CONNECT_TIMEOUT, meet, sessionTo, timeLeft } from './connect.js';
import { connectionError } from './errors.js';
import { FabricSocket } from './fabric-socket.js';
import { MessageSocket, type MessageSocketOptions } from './message-socket.js';
import type { FabricOptions } from './ports.js';
import {
  type ConnectOptions,
  checkConnectOptions,
  connectArguments,
  type FabricSocketOptions,
} from './socket-options.js';

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
  socket.connect(sessionTo(options, socket));
  return listener ? socket.once('connect', listener) : socket;
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
