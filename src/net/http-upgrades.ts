import type { IncomingMessage, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { override } from './override.js';

/** Takes the requests that ask a server of node:http for a protocol. */
export interface UpgradeTaker {
  /** Whether it takes one now. If not, the server answers the request as if it had asked for nothing. */
  canTake(): boolean;
  /** @param socket has a listener for errors. @param head what was read behind the request. */
  take(socket: Socket, head: Buffer, request: IncomingMessage): void;
}

/** A parser of node:http, of Node.js without `shouldUpgradeCallback`: 20.x. It returns 2 for an upgrade. */
interface Parser {
  onIncoming: ((request: Incoming, keepAlive: boolean) => number) | null;
}

type Incoming = IncomingMessage & { readonly upgrade: boolean | null };
type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/**
 * The protocols that a server of node:http is asked for with `Upgrade:`, and that this package takes. All other requests get
 * to the program as without it. A listener for `'upgrade'` would not do: if there is one, node:http gives it every such
 * request, and its body is lost.
 */
class HttpUpgrades {
  readonly #server: Server | SecureServer;
  readonly #takers = new Map<string, UpgradeTaker>();
  /** The request that node:http is about to emit, and who takes it. */
  #next: { readonly request: IncomingMessage; readonly taker: UpgradeTaker } | undefined;
  #restore: (() => void) | undefined;

  constructor(server: Server | SecureServer) {
    this.#server = server;
  }

  add(protocol: string, taker: UpgradeTaker): void {
    this.#takers.set(protocol, taker);
    this.#restore ??= this.#override();
  }

  delete(protocol: string): void {
    this.#takers.delete(protocol);
    if (this.#takers.size > 0) return;
    this.#restore?.();
    this.#restore = undefined;
  }

  has(protocol: string): boolean {
    return this.#takers.has(protocol);
  }

  #override(): () => void {
    const server = this.#server;
    const hasDecision = 'shouldUpgradeCallback' in server;
    const restores = [
      override(server, 'emit', (emit: AnyMethod) => (...args) => {
        if (args[0] === 'upgrade' && this.#take(args)) return true;
        const isHandled = emit.apply(server, args);
        const isConnection = args[0] === 'connection' || args[0] === 'secureConnection';
        if (isConnection && !hasDecision) this.#watch(args[1] as { parser?: Parser });
        return isHandled;
      }),
      // node:http looks for listeners before it emits.
      override(server, 'listenerCount', (count: AnyMethod) => (...args) => {
        const listeners = count.apply(server, args) as number;
        return args[0] === 'upgrade' && this.#next ? Math.max(1, listeners) : listeners;
      }),
    ];
    if (hasDecision)
      restores.push(
        override(server, 'shouldUpgradeCallback', (decide: AnyMethod) => (request) => {
          return this.#wants(request as IncomingMessage) || decide.call(server, request);
        }),
      );
    return () => {
      for (const restore of restores) restore();
    };
  }

  #watch({ parser }: { parser?: Parser | null }): void {
    const decide = parser?.onIncoming;
    if (!parser || !decide) return;
    parser.onIncoming = (request, keepAlive) =>
      request.upgrade && this.#wants(request) ? 2 : decide(request, keepAlive);
  }

  #wants(request: IncomingMessage): boolean {
    const { headers, httpVersion } = request;
    const taker = this.#takers.get(headers.upgrade?.toLowerCase() ?? '');
    if (taker === undefined || httpVersion !== '1.1' || hasBody(request)) return false;
    if (!taker.canTake()) return false;
    this.#next = { request, taker };
    return true;
  }

  #take([, request, duplex, head]: readonly unknown[]): boolean {
    const next = this.#next;
    this.#next = undefined;
    if (next === undefined || next.request !== request) return false;
    const socket = duplex as Socket;
    socket.on('error', () => {}); // node:http has removed its listener
    socket.setTimeout(0);
    next.taker.take(socket, head as Buffer, next.request);
    return true;
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

const upgrades = new WeakMap<Server | SecureServer, HttpUpgrades>();

/** Takes the requests for a protocol. Returns what ends that, undefined if they are taken already. */
export function takeUpgrades(
  server: Server | SecureServer,
  protocol: string,
  taker: UpgradeTaker,
): (() => void) | undefined {
  const ofServer = upgrades.get(server) ?? new HttpUpgrades(server);
  upgrades.set(server, ofServer);
  if (ofServer.has(protocol)) return undefined;
  ofServer.add(protocol, taker);
  return () => ofServer.delete(protocol);
}

/** The answer that ends HTTP on a connection. */
export const switching = (protocol: string): string =>
  `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
