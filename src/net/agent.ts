import http, { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import https, {
  type RequestOptions,
  Agent as SecureAgent,
  type AgentOptions as SecureAgentOptions,
} from 'node:https';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { checkMilliseconds, checkObject } from '../base/checks.js';
import { invalidArgValue } from '../base/errors.js';
import { nearestName } from '../base/nearest-name.js';
import { isSecure, type Target } from './agent-asking.js';
import { Origin } from './agent-origin.js';
import { CONNECT_TIMEOUT } from './connect.js';
import { checkFabricOptions, FABRIC_NAMES } from './fabric-options.js';
import { FabricSocket } from './fabric-socket.js';
import type { FabricOptions } from './ports.js';
import { connectArguments } from './socket-options.js';

/** Options of a {@link FabricAgent}, with those of an Agent of node:http. */
export interface FabricAgentOptions extends SecureAgentOptions, FabricOptions {
  /** Milliseconds that a request waits for the server's agreement to use the fabric. It then uses TCP. Default: 5000. */
  readonly connectTimeout?: number;
}

/** An agent, as http.request() calls it. */
interface AddsRequests {
  addRequest(request: ClientRequest, ...rest: unknown[]): void;
}

// For http: and https:. If the agent is the global one of a module, requests without a protocol need that of the module.
function protocolOf(agent: Agent): string | undefined {
  const isOf = [http.globalAgent === agent, https.globalAgent === (agent as unknown)];
  if (isOf[0] === isOf[1]) return undefined;
  return isOf[0] ? 'http:' : 'https:';
}

/** Refuses misspelt options of the fabric. All others are those of connections, which nobody checks in node:http. */
function checkSpelling(options: object): void {
  for (const name of Object.keys(options)) {
    const meant = nearestName(name, [...FABRIC_NAMES, 'connectTimeout']);
    if (meant && Math.abs(meant.length - name.length) <= 2)
      throw invalidArgValue('options', `has no member '${name}'; did you mean '${meant}'?`);
  }
}

// node:http takes the default port of the agent, 80, for https: too.
const withPort = (target: Target): Target =>
  isSecure(target) && target.port === 80 ? { ...target, port: 443 } : target;

/** The most origins without a session that an agent remembers. */
const MAX_ORIGINS = 1000;

/**
 * An agent for `http.request()` and `https.request()` whose connections travel over the fabric, if the server offers it. It
 * asks each server once, and once a minute if the answer was no.
 */
export class FabricAgent extends Agent {
  readonly #options: FabricOptions & { readonly connectTimeout: number };
  /** By name: those that were asked, the last one at the end. */
  readonly #origins = new Map<string, Origin>();
  #isDestroyed = false;

  constructor(options: FabricAgentOptions = {}) {
    const { provider, driver, node, nics, heartbeat, require, ...others } = checkObject(
      'options',
      options,
    );
    const { connectTimeout = CONNECT_TIMEOUT, ...ofAgent } = others;
    checkMilliseconds('options.connectTimeout', connectTimeout, 1);
    checkFabricOptions(options);
    checkSpelling(ofAgent);
    super(ofAgent);
    let protocol: string | undefined | null;
    Object.defineProperty(this, 'protocol', {
      get: () => (protocol === undefined ? protocolOf(this) : protocol),
      set: (value) => {
        protocol = value;
      },
    });
    this.#options = { ...options, connectTimeout };
  }

  /** @internal The name of the origin, and, over TLS, of the options that decide whom it trusts. */
  override getName(target: Target = {}): string {
    return isSecure(target)
      ? `https ${SecureAgent.prototype.getName.call(this, target as RequestOptions)}`
      : super.getName(target as never);
  }

  /** @internal A connection that is used again belongs to the request that uses it. */
  addRequest(request: ClientRequest, ...rest: unknown[]): void {
    request.once('socket', (socket) => {
      if (socket instanceof FabricSocket) socket.joinCall();
    });
    (Agent.prototype as unknown as AddsRequests).addRequest.call(this, request, ...rest);
  }

  /** Connects to a server. Returns the socket, and calls back with it, as node:http and other libraries of HTTP want it. */
  override createConnection(
    target: ClientRequestArgs & Omit<ConnectionOptions, keyof ClientRequestArgs>,
    created?: (error: Error | null, socket: Duplex) => void,
  ): Duplex {
    const [options] = connectArguments([target, created]); // as those of net.createConnection(), which node:http uses
    const wanted = withPort(options as Target);
    const socket = this.#origin(wanted).connect(wanted);
    if (typeof created === 'function') process.nextTick(created, null, socket);
    return socket;
  }

  #origin(target: Target): Origin {
    const name = this.getName(target);
    const known = this.#origins.get(name);
    if (known) return known;
    if (this.#origins.size >= MAX_ORIGINS) this.#forgetOne();
    const origin = new Origin(this.#options, {
      isLeaving: () => this.#isDestroyed,
      retired: () => this.#dropFree(name),
    });
    this.#origins.set(name, origin);
    return origin;
  }

  // Requests must not get sockets of a session whose peer may be gone.
  #dropFree(name: string): void {
    for (const socket of [...(this.freeSockets[name] ?? [])]) {
      if (socket instanceof FabricSocket) socket.destroy();
    }
  }

  #forgetOne(): void {
    for (const [name, origin] of this.#origins) {
      if (origin.isUsed) continue;
      this.#origins.delete(name);
      return;
    }
  }

  /** Ends the connections, and each session when nobody uses it: also those of later requests. */
  override destroy(): void {
    this.#isDestroyed = true;
    super.destroy();
    for (const origin of this.#origins.values()) origin.leave();
    this.#origins.clear();
  }
}
