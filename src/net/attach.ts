import type { Server } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import type { Server as SecureServer } from 'node:https';
import { Socket } from 'node:net';
import { getDefaultHighWaterMark } from 'node:stream';
import { ListenContext } from '../base/async-context.js';
import { checkOptions } from '../base/checks.js';
import { invalidArgType, invalidState } from '../base/errors.js';
import { isRevoked } from '../base/objects.js';
import { sourceOfRequest } from '../base/origin.js';
import { addonFailure } from './addon.js';
import { numberOf } from './errors.js';
import { checkFabricOptions, FABRIC_NAMES } from './fabric-options.js';
import { FabricSocket } from './fabric-socket.js';
import { switching, takeUpgrades } from './http-upgrades.js';
import { override } from './override.js';
import { addressesOf } from './peer-info.js';
import type { FabricOptions } from './ports.js';
import { checkLimits, LIMIT_NAMES, ServerSessions, type SessionLimits } from './server-sessions.js';
import { warnOf } from './session.js';
import { Mode, type SocketSession } from './stream.js';

/** The value of `Upgrade:` of a FabricAgent. */
export const PROTOCOL = 'libfabric';

/** Options of {@link attach}. */
export interface AttachOptions extends FabricOptions, SessionLimits {}

const NAMES = [...FABRIC_NAMES, ...LIMIT_NAMES];

/** What {@link attach} returns. */
export interface Attachment {
  /**
   * Takes no new clients from the fabric. Clients that are there keep their sockets, and get to the server over TCP when
   * these have closed.
   */
  close(): void;
  /** Calls close(): `using`. */
  [Symbol.dispose](): void;
}

/**
 * Lets clients with a {@link FabricAgent} reach an HTTP server over the fabric, at its port and with its certificate. All
 * others stay on TCP. Without libfabric on this host, all do.
 *
 * @throws Error with the reason if there is no libfabric on this host, and `require` is `'fabric'`. TypeError for what is no
 * server. Error ERR_INVALID_STATE if the server is attached already.
 */
export function attach(
  server: Server | SecureServer | Http2SecureServer,
  options: AttachOptions = {},
): Attachment {
  if (!isServer(server)) {
    const expected = 'a server of node:http, such as the member `server` of an instance of Fastify';
    throw invalidArgType('server', expected, server);
  }
  const checked = checkOptions('options', options, NAMES);
  checkFabricOptions(checked);
  checkLimits(checked);
  return new Attached(server as Server | SecureServer, checked);
}

const isServer = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !isRevoked(value) &&
  ['listenerCount', 'emit', 'getConnections', 'close'].every(
    (name) => typeof (value as Record<string, unknown>)[name] === 'function',
  );

type Counted = (error: Error | null, count: number) => void;

class Attached implements Attachment {
  readonly #server: Server | SecureServer;
  readonly #sessions: ServerSessions;
  readonly #sockets = new Set<FabricSocket>();
  readonly #undo: (() => void)[] = [];
  readonly #context: ListenContext;
  #isServerClosing = false;

  constructor(server: Server | SecureServer, options: AttachOptions) {
    this.#server = server;
    this.#context = new ListenContext(server);
    this.#undo.push(() => this.#context.close());
    this.#sessions = new ServerSessions(options, (...opened) => this.#opened(...opened));
    const missing = addonFailure();
    if (missing) {
      if (options.require === 'fabric') throw missing;
      if (options.provider !== undefined) warnOf(missing);
      return; // clients learn that the server does not offer the fabric
    }
    const stop = takeUpgrades(server, PROTOCOL, {
      canTake: () => !this.#sessions.isBusy && !this.#sessions.isFull && !this.#isServerClosing,
      take: (socket, head, { headers }) => {
        const source = sourceOfRequest(socket, headers);
        socket.write(switching(PROTOCOL));
        if (head.length > 0) socket.unshift(head);
        this.#context.run(() => {
          this.#sessions.agree(socket, () => this.#isServerClosing, source);
        });
      },
    });
    if (stop === undefined) throw invalidState('the server is attached already');
    this.#undo.push(stop);
    this.#followServer();
  }

  // Makes the methods of the server see the sockets of the fabric.
  #followServer(): void {
    const server = this.#server;
    if (server.listening) this.#listens();
    server.on('close', this.#closed);
    this.#undo.push(
      () => server.off('close', this.#closed),
      override(server, 'emit', (emit) => (...args) => {
        if (args[0] === 'listening') this.#listens();
        if (args[0] === 'connection' && this.#drops(args[1])) return true;
        return emit.apply(server, args);
      }),
      override(server, 'close', (close) => (...args) => {
        this.#isServerClosing ||= server.listening;
        const result = close.apply(server, args);
        this.#sessions.close();
        return result;
      }),
      override(
        server,
        'getConnections',
        (getConnections) => (callback) =>
          getConnections.call(server, (error: Error | null, count: number) =>
            (callback as Counted)(error, error ? count : count + this.#extra),
          ),
      ),
    );
    if (!('closeAllConnections' in server)) return; // a server of node:http2
    this.#undo.push(
      override(server, 'closeAllConnections', (closeAll) => (...args) => {
        closeAll.apply(server, args);
        this.#sessions.destroy();
      }),
    );
  }

  #listens(): void {
    this.#isServerClosing = false;
    this.#sessions.openPorts((error) => this.#server.emit('error', error));
  }

  // The server counts control connections, but not the sockets of their sessions.
  get #extra(): number {
    return this.#sockets.size - this.#sessions.size;
  }

  get #highWaterMark(): number {
    const { highWaterMark } = this.#server as Server & { highWaterMark?: number };
    return highWaterMark ?? getDefaultHighWaterMark(false);
  }

  /** @param more sockets that the server does not count yet. */
  #isOver(more: number): boolean {
    const { maxConnections, _connections = 0 } = this.#server as Server & { _connections?: number };
    return _connections + this.#extra + more > (maxConnections ?? Number.POSITIVE_INFINITY);
  }

  // The server has counted the socket, and knows nothing of those of the fabric.
  #drops(socket: unknown): boolean {
    if (!(socket instanceof Socket) || !this.#isOver(0)) return false;
    this.#server.emit('drop', addressesOf(socket));
    socket.on('error', () => {}).destroy();
    return true;
  }

  #opened(session: SocketSession, stream: number, mode: number): void {
    const server = this.#server;
    if (mode !== Mode.Bytes) {
      session.answer(stream, numberOf('EPROTONOSUPPORT'));
    } else if (this.#isServerClosing) {
      session.answer(stream, numberOf('ECONNREFUSED'));
    } else if (this.#isOver(1)) {
      // As in node:net, the client connects, and the connection ends.
      session.answer(stream, 0);
      session.destroy(stream);
      server.emit('drop', addressesOf(session.control));
    } else {
      const socket = FabricSocket.accepted(session, stream, {
        allowHalfOpen: true,
        highWaterMark: this.#highWaterMark, // requests have that of their socket
      });
      session.answer(stream, 0);
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      server.emit(socketEvent(server), Object.assign(socket, { server }));
    }
  }

  readonly #closed = (): void => this.#sessions.closePorts();

  close(): void {
    this.#closed();
    for (const undo of this.#undo.splice(0).reverse()) undo();
    this.#sessions.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

// A server of node:https parses what arrives at its secure connections.
const socketEvent = (server: Server | SecureServer) =>
  'setSecureContext' in server ? 'secureConnection' : 'connection';
