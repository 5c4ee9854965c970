import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { withoutContext } from '../base/async-context.js';
import { ADMIT_HINT, type Admit, admitted, sourceOf } from '../base/origin.js';
import { Trace } from '../base/trace.js';
import type { NetSessionState } from '../diagnostics/net-state.js';
import { addonFailure } from './addon.js';
import {
  type Agreement,
  agree,
  FABRIC_TERMS,
  type FabricAddresses,
  newSession,
  type Role,
  TERMS,
} from './agreement.js';
import { type ConnectTraceMessage, tracedConnects } from './channels.js';
import {
  type Asker,
  connected,
  identityOf,
  keyOf,
  openControl,
  tellLookup,
} from './control-connection.js';
import { connectionError } from './errors.js';
import { PlainSession } from './plain-session.js';
import type { Heartbeat } from './port.js';
import { type FabricOptions, Ports } from './ports.js';
import { Session, warnOf } from './session.js';
import type { ConnectOptions } from './socket-options.js';
import type { SocketSession } from './stream.js';

/** Milliseconds for a connection and an agreement. */
export const CONNECT_TIMEOUT = 5000;
/** Milliseconds for an agreement, on the side of the server: the event loop of a client may be busy for some time. */
export const AGREEMENT_TIMEOUT = 30_000;
/** The least milliseconds of the second step: the event loop may have been busy during the first one. */
const MIN_STEP = 1000;

// The sessions that connect() of this thread has opened, by what they were opened with.
const sessions = new Map<string, Promise<SocketSession>>();

/**
 * The session for a socket: a new one, or that of earlier sockets with the same options.
 *
 * @param asker emits the events of the new connection.
 * @throws TypeError, RangeError as node:net does.
 */
export function sessionTo(options: ConnectOptions, asker: Asker): Promise<SocketSession> {
  // Options of TLS may have functions and keys, which cannot be compared. A local port is that of one connection.
  if (options.tls !== undefined || options.localPort) return openOfOneSocket(options, asker);
  return sharedSession(options, asker).then((session) =>
    session instanceof PlainSession && !session.claim() ? openOfOneSocket(options, asker) : session,
  );
}

// Not within sharedSession(): its functions live as long as the session, and would keep the asker.
function tellLookupOf(
  opening: Promise<SocketSession>,
  options: ConnectOptions,
  asker: Asker,
): void {
  opening.then(
    (session) => tellLookup(asker, options, session.control),
    () => {}, // the socket that uses it learns of it
  );
}

function sharedSession(options: ConnectOptions, asker: Asker): Promise<SocketSession> {
  const key = `${keyOf(options)}\n${keyOfFabric(options)}`;
  const known = sessions.get(key);
  if (known !== undefined) {
    tellLookupOf(known, options, asker);
    return known;
  }
  const forget = () => {
    if (sessions.get(key) === opening) sessions.delete(key);
  };
  const opening = openTraced(options, asker, true, forget);
  sessions.set(key, opening);
  opening.catch(forget);
  return opening;
}

function keyOfFabric({ provider, driver, node, nics, heartbeat, require }: FabricOptions): string {
  const { interval, limit } = Object(heartbeat) as Heartbeat;
  return [provider, driver, node, nics, interval, limit, require].map(identityOf).join('\n');
}

function openOfOneSocket(options: ConnectOptions, asker: Asker): Promise<SocketSession> {
  return openTraced(options, asker, false).then((session) => {
    session.isOfOneSocket = true;
    return session;
  });
}

function openTraced(
  options: ConnectOptions,
  asker: Asker,
  isShared: boolean,
  ended: () => void = () => {},
): Promise<SocketSession> {
  const control = openControl(options, asker, isShared);
  const begin = () => open(control, options, isShared, ended);
  const start = isShared ? () => withoutContext(begin) : begin;
  if (!tracedConnects.hasSubscribers) return start();
  const { host = 'localhost', port, path, provider } = options;
  const place = path === undefined ? { host, port: Number(port) } : { path };
  const trace = new Trace<NetSessionState, ConnectTraceMessage>(tracedConnects, {
    ...place,
    provider,
  });
  const opening = start();
  trace.returned();
  opening.then(
    (session) => trace.succeeded(session.state()),
    (error) => trace.failed(error),
  );
  return opening;
}

async function open(
  control: Socket,
  options: ConnectOptions,
  isShared: boolean,
  ended: () => void,
): Promise<SocketSession> {
  const { connectTimeout = CONNECT_TIMEOUT } = options;
  const until = performance.now() + connectTimeout;
  await connected(control, options, connectTimeout);
  control.setNoDelay(true);
  try {
    const session = await meet(control, options, timeLeft(until, connectTimeout));
    if (session instanceof PlainSession)
      ended(); // later sockets need connections of their own
    else session.onEnd = session.onRetire = ended;
    session.endsWhenIdle = isShared;
    session.start();
    return session;
  } catch (error) {
    control.destroy();
    throw error;
  }
}

/** Who meets over a connection, and whom it admits. */
export interface Meeting {
  readonly role: Role;
  /** The host that the connection comes from, if it is not sourceOf(). */
  readonly source?: string;
  readonly admit?: Admit | undefined;
}

/**
 * Agrees on a session over a connection. The caller starts it. The connection has a listener for errors from now on.
 *
 * @param meeting undefined for a client. It trusts the server that it has connected to.
 */
export async function meet(
  control: Duplex,
  options: FabricOptions,
  timeout: number,
  meeting?: Meeting,
): Promise<SocketSession> {
  control.on('error', () => {}); // also while nothing reads from it
  const session = newSession();
  const missing = addonFailure();
  const { ports, failure } = await portsFor(options, session, missing);
  try {
    if (failure && options.require === 'fabric') throw failure;
    const terms = ports ? { ...FABRIC_TERMS, packetSize: ports.packetSize } : TERMS;
    const isPlain = missing !== undefined;
    const role = meeting?.role ?? 'client';
    const admits = async ({ provider, addresses }: FabricAddresses) => {
      if (!meeting || !ports || provider !== ports.provider) return true;
      const named = { provider, format: ports.format, addresses };
      const { source = sourceOf(control), admit } = meeting;
      const usable = await admitted(named, source, control, admit);
      return usable.every(Boolean);
    };
    const proposal = { session, terms, role, fabric: ports, admits, isPlain, timeout };
    const agreement = await agree(control, proposal);
    const { fabric } = agreement;
    if (!agreement.isPlain && ports && fabric?.provider === ports.provider) {
      const links = await ports.meet(fabric.addresses);
      if (control.destroyed) throw connectionError('ECONNRESET', 'the connection ended');
      return new Session(control, agreement, { ports, links, require: options.require });
    }
    const fallback = failure ?? (ports && peerHasNone(agreement));
    if (fallback && options.require === 'fabric') throw fallback;
    if (fallback) warnOf(fallback);
    letGo(ports, session);
    if (!agreement.isPlain) return new Session(control, agreement, { fallback });
    return new PlainSession(control, { opens: agreement.opens, fallback, timeout });
  } catch (error) {
    letGo(ports, session);
    throw error;
  }
}

function peerHasNone({ isPlain, isAdmitted }: Agreement): Error {
  if (!isAdmitted)
    return connectionError('EACCES', `the peer's address was not admitted (${ADMIT_HINT})`);
  return connectionError(
    'EPROTONOSUPPORT',
    isPlain ? 'the peer has no libfabric' : 'the peer does not use this fabric',
  );
}

/** The endpoints for a new session, or why there are none. */
async function portsFor(
  options: FabricOptions,
  session: number,
  missing: Error | undefined,
): Promise<{ ports?: Ports; failure?: Error }> {
  if (options.provider === undefined) return {};
  if (missing) return { failure: missing };
  try {
    return { ports: await Ports.take(options, { session, allowance: FABRIC_TERMS.allowance }) };
  } catch (error) {
    return { failure: error as Error };
  }
}

/** The milliseconds until `until`, and at least those of a step. */
export function timeLeft(until: number, timeout: number): number {
  return Math.max(Math.min(timeout, MIN_STEP), until - performance.now());
}

function letGo(ports: Ports | undefined, session: number): void {
  ports?.leave(session);
  ports?.release();
}
