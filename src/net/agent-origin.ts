import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { getDefaultHighWaterMark } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { withoutContext } from '../base/async-context.js';
import { addonFailure } from './addon.js';
import { Asking, type AskingOptions, isSecure, type Target } from './agent-asking.js';
import { type ControlOptions, tellLookup } from './control-connection.js';
import { connectionError } from './errors.js';
import { FabricSocket } from './fabric-socket.js';
import { PlainSession } from './plain-session.js';
import { warnOf } from './session.js';
import type { SocketSession } from './stream.js';

/** ms until a server that has not agreed is asked again. */
const ASK_AGAIN = 60_000;

/** The agent of an origin. */
export interface OriginOwner {
  /** Whether the agent was destroyed. Then the session ends with its last socket. */
  isLeaving(): boolean;
  /** The session takes no more sockets. */
  retired(): void;
}

/** What an agent knows of an origin: whether it offers the fabric, and the session with it. */
export class Origin {
  readonly #options: AskingOptions;
  readonly #agent: OriginOwner;
  #session: SocketSession | undefined;
  #asking: Asking | undefined;
  /** performance.now() from which on a server that has refused is asked again. */
  #asksFrom: number | undefined;
  /** Sockets that use the session, or wait for it. */
  #sockets = 0;

  constructor(options: AskingOptions, agent: OriginOwner) {
    this.#options = options;
    this.#agent = agent;
  }

  /** Whether there is a session, or will be one. */
  get isUsed(): boolean {
    return this.#session !== undefined || this.#asking !== undefined;
  }

  /** A socket for a request. It is connecting. */
  connect(target: Target): FabricSocket | Socket {
    const session = this.#session;
    if (session) {
      const socket = this.#use(socketFor(target), target);
      process.nextTick(tellLookup, socket, target as ControlOptions, session.control);
      return socket.open(session, () => this.#opening(socket, target));
    }
    const { provider, require } = this.#options;
    const isOptional = require !== 'fabric';
    const missing = addonFailure();
    if (missing) {
      if (!isOptional) return socketFor(target).openFrom(Promise.reject(missing));
      if (provider !== undefined) warnOf(missing);
      return withoutFabric(target);
    }
    if (this.#asksFrom !== undefined && isOptional) {
      if (performance.now() >= this.#asksFrom) this.#ask(target); // for later requests
      return withoutFabric(target);
    }
    return this.#wait(target);
  }

  /** A socket that waits for the answer of the server. */
  #wait(target: Target): FabricSocket {
    const socket = this.#use(socketFor(target), target);
    return socket.openFrom(this.#opening(socket, target), () => this.#opening(socket, target));
  }

  async #opening(socket: FabricSocket, target: Target): Promise<SocketSession> {
    const asking = this.#ask(target);
    // Limits of the request begin when it is connected.
    asking.connected.then((control) => {
      tellLookup(socket, target as ControlOptions, control);
      socket.connected();
    });
    asking.hold(1);
    const release = () => asking.hold(-1);
    socket.once('close', release);
    const { session, error, isUnreachable } = await asking.outcome;
    if (socket.off('close', release).destroyed)
      throw error ?? connectionError('ECONNABORTED', 'the socket was destroyed', 'connect');
    release();
    if (session) return session;
    if (this.#options.require === 'fabric' || isUnreachable) throw error;
    const control = withoutFabric(target);
    socket.once('close', () => control.destroy());
    const fallback = this.#options.provider === undefined ? undefined : error;
    return connected(control, target, fallback);
  }

  #ask(target: Target): Asking {
    if (this.#asking) return this.#asking;
    const asking = withoutContext(() => new Asking(target, this.#options));
    this.#asking = asking;
    asking.outcome.then(({ session, error, isUnreachable }) => {
      this.#asking = undefined;
      this.#asksFrom = undefined;
      if (session) this.#found(session);
      else if (!isUnreachable) this.#refused(error as Error);
    });
    return asking;
  }

  #refused(error: Error): void {
    const { provider, require } = this.#options;
    this.#asksFrom = performance.now() + ASK_AGAIN;
    if (provider !== undefined && require !== 'fabric' && !this.#agent.isLeaving()) warnOf(error);
  }

  #found(session: SocketSession): void {
    this.#session = session;
    session.onEnd = session.onRetire = () => {
      if (this.#session !== session) return;
      this.#session = undefined;
      this.#agent.retired();
    };
    this.#closeIfLeft();
  }

  #use(socket: FabricSocket, { timeout }: Target): FabricSocket {
    if (timeout) socket.setTimeout(timeout);
    this.#sockets += 1;
    return socket.once('close', () => {
      this.#sockets -= 1;
      this.#closeIfLeft();
    });
  }

  #closeIfLeft(): void {
    if (this.#sockets > 0 || !this.#agent.isLeaving()) return;
    const session = this.#session;
    this.#session = undefined; // the next socket needs another one
    session?.close();
  }

  /** The agent was destroyed. */
  leave(): void {
    this.#asking?.abort();
    this.#closeIfLeft();
  }
}

const socketFor = ({ signal }: Target): FabricSocket =>
  new FabricSocket({
    highWaterMark: getDefaultHighWaterMark(false), // responses have that of their socket
    ...(signal && { signal }),
  });

const withoutFabric = (target: Target): Socket =>
  isSecure(target) ? connectTls(target as ConnectionOptions) : connectTcp(target as never);

/** A connection over TCP of one socket. */
async function connected(
  control: Socket,
  target: Target,
  fallback: Error | undefined,
): Promise<SocketSession> {
  control.on('error', () => {});
  await once(control, isSecure(target) ? 'secureConnect' : 'connect');
  if (control.destroyed) throw connectionError('ECONNRESET', 'the connection ended');
  const session = new PlainSession(control, { opens: true, fallback });
  session.start();
  return session;
}
