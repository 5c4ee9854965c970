import {
  Agent,
  type AgentOptions,
  type ClientRequest,
  type ClientRequestArgs,
  type IncomingMessage,
  request as requestHttp,
  type Server,
  ServerResponse,
} from 'node:http';
import {
  type RequestOptions,
  request as requestHttps,
  Agent as SecureAgent,
  type Server as SecureServer,
} from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { inThisContext, ListenContext, withoutContext } from '../base/async-context.js';
import { TimeLimit } from '../base/time-limit.js';
import { AGREEMENT_TIMEOUT, CONNECT_TIMEOUT, meet } from './connect.js';
import { connectionError } from './errors.js';
import { FabricSocket } from './fabric-socket.js';
import type { FabricOptions } from './ports.js';
import { type Session, warnOf } from './session.js';

const PROTOCOL = 'libfabric';

/**
 * Lets clients with a {@link FabricAgent} reach an HTTP server over the fabric, at its port and with its certificate. All
 * others stay on TCP.
 */
export function attach(server: Server | SecureServer, options: FabricOptions = {}): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    if (server.listenerCount('upgrade') === 1)
      answerWithoutUpgrade(server, request, socket as Socket);
  });
  const context = new ListenContext(server);
  // Not in the listener, because other listeners would see the request, and those of WebSockets refuse it.
  const emit = server.emit.bind(server) as (event: unknown, ...args: unknown[]) => boolean;
  server.emit = ((event: unknown, ...args: unknown[]) => {
    if (event === 'upgrade') {
      const [request, socket, head] = args as [IncomingMessage, Duplex, Buffer];
      if (request.headers.upgrade === PROTOCOL) {
        context.run(() => {
          accept(server, socket, head, options).catch(() => socket.destroy());
        });
        return true;
      }
    }
    return emit(event, ...args);
  }) as typeof server.emit;
}

async function accept(server: Server, socket: Duplex, head: Buffer, options: FabricOptions) {
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${PROTOCOL}\r\n\r\n`,
  );
  if (head.length > 0) socket.unshift(head);
  const session = await meet(socket, options, AGREEMENT_TIMEOUT, 'server');
  session.opened = inThisContext((stream) => {
    const accepted = FabricSocket.accepted(session, stream, { allowHalfOpen: true });
    session.answer(stream, 0);
    server.emit(socketEvent(server), accepted);
  });
  session.start();
}

// A server of node:https parses what arrives at its secure connections.
const socketEvent = (server: Server | SecureServer) =>
  'setSecureContext' in server ? 'secureConnection' : 'connection';

/** @internal Without a listener for upgrades, a server of node:http answers as if the client had asked for none. */
export function answerWithoutUpgrade(
  server: Server | SecureServer,
  request: IncomingMessage,
  socket: Socket,
): void {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on('finish', () => socket.destroySoon());
  server.emit('request', request, response);
}

/** What createConnection() of an agent gets: the request's options. */
type Wanted = ClientRequestArgs &
  ConnectionOptions & { readonly _defaultAgent?: { readonly protocol?: string } };

/** An agent, as http.request() calls it. */
interface AddsRequests {
  addRequest(request: ClientRequest, ...rest: unknown[]): void;
}

type Created = (error: Error | null, socket?: Duplex) => void;

/** An agent for `http.request()` and `https.request()` whose connections travel over the fabric, if the server offers it. */
export class FabricAgent extends Agent {
  readonly #options: FabricOptions;
  /** By origin. Undefined: the server does not offer the fabric. */
  readonly #sessions = new Map<string, Promise<Session | undefined>>();

  constructor(options: AgentOptions & FabricOptions = {}) {
    const { provider, driver, node, nics, heartbeat, require, ...ofAgent } = options;
    super(ofAgent);
    Object.assign(this, { protocol: undefined }); // for http:// and https://
    this.#options = options;
  }

  /** @internal The name of the origin, and, over TLS, of the options that decide whom it trusts. */
  override getName(wanted: Wanted): string {
    return isSecure(wanted)
      ? `https ${SecureAgent.prototype.getName.call(this, wanted as RequestOptions)}`
      : super.getName(wanted as never);
  }

  /** @internal A connection that is used again belongs to the request that uses it. */
  addRequest(request: ClientRequest, ...rest: unknown[]): void {
    request.once('socket', (socket) => {
      if (socket instanceof FabricSocket) socket.joinCall();
    });
    (Agent.prototype as unknown as AddsRequests).addRequest.call(this, request, ...rest);
  }

  /** @internal */
  override createConnection(wanted: Wanted, created: Created): undefined {
    this.#session(wanted).then(
      (session) =>
        created(null, session ? new FabricSocket().open(session) : withoutFabric(wanted)),
      (error) => created(error),
    );
    return undefined;
  }

  #session(wanted: Wanted): Promise<Session | undefined> {
    const key = this.getName(wanted);
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const forget = () => this.#sessions.delete(key);
    const opening = withoutContext(() => this.#upgrade(wanted, forget));
    this.#sessions.set(key, opening);
    opening.catch(forget);
    return opening;
  }

  #upgrade(wanted: Wanted, ended: () => void): Promise<Session | undefined> {
    // Not the signal and the timeout of the request that happens to be the first.
    const {
      signal: _signal,
      timeout: _timeout,
      ...options
    } = {
      ...wanted,
      path: '/',
      method: 'OPTIONS',
      headers: { connection: 'Upgrade', upgrade: PROTOCOL },
      agent: false as const,
    };
    const request = isSecure(wanted)
      ? requestHttps(options as RequestOptions)
      : requestHttp(options as ClientRequestArgs);
    const limit = new TimeLimit(CONNECT_TIMEOUT, () =>
      request.destroy(connectionError('ETIMEDOUT', 'no answer', 'connect')),
    );
    for (const event of ['response', 'upgrade', 'error']) request.once(event, () => limit.clear());
    request.end();
    return this.#upgraded(request, ended);
  }

  async #upgraded(request: ClientRequest, ended: () => void): Promise<Session | undefined> {
    const socket = await new Promise<Duplex | undefined>((resolve, reject) => {
      request.on('error', reject);
      request.on('response', (response) => {
        response.resume();
        resolve(undefined);
      });
      request.on('upgrade', (_response, upgraded, head) => {
        if (head.length > 0) upgraded.unshift(head);
        resolve(upgraded);
      });
    });
    if (socket === undefined) {
      const { provider, require } = this.#options;
      const detail = 'the server does not offer the fabric';
      const error = connectionError('EPROTONOSUPPORT', detail, 'connect');
      if (require === 'fabric') throw error;
      if (provider !== undefined) warnOf(error);
      return undefined;
    }
    const session = await meet(socket, this.#options, CONNECT_TIMEOUT);
    session.onEnd = ended;
    session.start();
    return session;
  }

  /** Ends the connections, and the sessions when nobody uses them. */
  override destroy(): void {
    super.destroy();
    for (const opening of this.#sessions.values()) {
      opening.then(
        (session) => session?.close(),
        () => {},
      );
    }
    this.#sessions.clear();
  }
}

const isSecure = ({ protocol, _defaultAgent }: Wanted) =>
  (_defaultAgent?.protocol ?? protocol) === 'https:';

const withoutFabric = (wanted: Wanted): Socket =>
  isSecure(wanted) ? connectTls(wanted as ConnectionOptions) : connectTcp(wanted as never);
