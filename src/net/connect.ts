import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Trace } from '../base/trace.js';
import type { NetSessionState } from '../diagnostics/net-state.js';
import { agree, FABRIC_TERMS, newSession, type Role, TERMS } from './agreement.js';
import { type ConnectTraceMessage, tracedConnects } from './channels.js';
import { type Asker, connected, identityOf, keyOf, openControl } from './control-connection.js';
import { connectionError } from './errors.js';
import type { Heartbeat } from './port.js';
import { type FabricOptions, Ports } from './ports.js';
import { Session, warnOf } from './session.js';
import type { ConnectOptions } from './socket-options.js';

/** Milliseconds for a connection and an agreement. */
export const CONNECT_TIMEOUT = 5000;

// The sessions that connect() of this thread has opened, by what they were opened with.
const sessions = new Map<string, Promise<Session>>();

/**
 * The session for a socket: a new one, or that of earlier sockets with the same options.
 *
 * @param asker emits the events of the new connection.
 * @throws TypeError, RangeError as node:net does.
 */
export function sessionTo(options: ConnectOptions, asker: Asker): Promise<Session> {
  // Options of TLS may have functions and keys, which cannot be compared. A local port is that of one connection.
  if (options.tls !== undefined || options.localPort) return openOfOneSocket(options, asker);
  const key = `${keyOf(options)}\n${keyOfFabric(options)}`;
  const known = sessions.get(key);
  if (known !== undefined) return known;
  const forget = () => {
    if (sessions.get(key) === opening) sessions.delete(key);
  };
  const opening = openTraced(options, asker, forget);
  sessions.set(key, opening);
  opening.catch(forget);
  return opening;
}

function keyOfFabric({ provider, driver, node, nics, heartbeat, require }: FabricOptions): string {
  const { interval, limit } = Object(heartbeat) as Heartbeat;
  return [provider, driver, node, nics, interval, limit, require].map(identityOf).join('\n');
}

function openOfOneSocket(options: ConnectOptions, asker: Asker): Promise<Session> {
  return openTraced(options, asker).then((session) => {
    session.isOfOneSocket = true;
    return session;
  });
}

function openTraced(
  options: ConnectOptions,
  asker: Asker,
  ended: () => void = () => {},
): Promise<Session> {
  const control = openControl(options, asker);
  if (!tracedConnects.hasSubscribers) return open(control, options, ended);
  const { host = 'localhost', port, path, provider } = options;
  const place = path === undefined ? { host, port: Number(port) } : { path };
  const trace = new Trace<NetSessionState, ConnectTraceMessage>(tracedConnects, {
    ...place,
    provider,
  });
  const opening = open(control, options, ended);
  trace.returned();
  opening.then(
    (session) => trace.succeeded(session.state()),
    (error) => trace.failed(error),
  );
  return opening;
}

async function open(control: Socket, options: ConnectOptions, ended: () => void): Promise<Session> {
  const { connectTimeout = CONNECT_TIMEOUT } = options;
  const until = performance.now() + connectTimeout;
  await connected(control, options, connectTimeout);
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
  try {
    return { ports: await Ports.take(options, { session, allowance: FABRIC_TERMS.allowance }) };
  } catch (error) {
    return { failure: error as Error };
  }
}

function letGo(ports: Ports | undefined, session: number): void {
  ports?.leave(session);
  ports?.release();
}
