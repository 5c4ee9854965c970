import {
  Agent,
  type ClientRequest,
  type ClientRequestArgs,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { type RequestOptions, request as requestHttps, Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { TimeLimit } from '../base/time-limit.js';
import { PROTOCOL } from './attach.js';
import { meet, timeLeft } from './connect.js';
import { connectionError } from './errors.js';
import type { FabricOptions } from './ports.js';
import type { SocketSession } from './stream.js';

/** What createConnection() of an agent gets: the request's options. */
export type Target = ClientRequestArgs &
  ConnectionOptions & { readonly _defaultAgent?: { readonly protocol?: string | undefined } };

export const isSecure = ({ protocol, _defaultAgent }: Target): boolean =>
  (_defaultAgent?.protocol ?? protocol) === 'https:';

export type AskingOptions = FabricOptions & {
  /** Milliseconds until the server must have agreed. */
  readonly connectTimeout: number;
};

/** A session, or why there is none. */
export interface Outcome {
  readonly session?: SocketSession;
  readonly error?: Error;
  /** Whether there is no connection to the server, for the reason `error`. */
  readonly isUnreachable: boolean;
}

/** Asks a server to use the fabric. */
export class Asking {
  /** It does not reject. The caller sets `onEnd` of the session, which has started. */
  readonly outcome: Promise<Outcome>;
  /** Resolves when there is a connection, before TLS. */
  readonly connected: Promise<Socket>;
  readonly #request: ClientRequest;
  #socket: Socket | undefined;
  #references = 0;
  #hasConnected = false;
  #hasGivenUp = false;

  constructor(target: Target, options: AskingOptions) {
    const until = performance.now() + options.connectTimeout;
    const request = requestFor(target);
    this.#request = request;
    const limit = new TimeLimit(options.connectTimeout, () =>
      this.#fail('ETIMEDOUT', `no agreement within ${options.connectTimeout} ms`),
    ).unref();
    let connected: (socket: Socket) => void;
    this.connected = new Promise((resolve) => {
      connected = resolve;
    });
    request.on('socket', (socket: Socket) => {
      this.#socket = socket;
      socket.once('connect', () => connected(socket));
      socket.once(isSecure(target) ? 'secureConnect' : 'connect', () => {
        this.#hasConnected = true;
      });
      this.#holdLoop();
    });
    this.outcome = this.#upgraded()
      .then((socket) => meet(socket, options, timeLeft(until, options.connectTimeout)))
      .then(
        (session) => {
          session.endsWhenIdle = true;
          session.start();
          return { session, isUnreachable: false };
        },
        (error) => {
          this.#socket?.destroy();
          return { error, isUnreachable: !this.#hasConnected && !this.#hasGivenUp };
        },
      )
      .finally(() => {
        limit.clear();
        this.#socket = undefined;
      });
  }

  /** Changes the number of sockets that wait for it. Without one, it does not keep the event loop alive. */
  hold(change: 1 | -1): void {
    const held = this.#references > 0;
    this.#references += change;
    if (held !== this.#references > 0) this.#holdLoop();
  }

  #holdLoop(): void {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed) return; // it would wait for 'connect'
    if (this.#references > 0) socket.ref();
    else socket.unref();
  }

  abort(): void {
    this.#fail('ECONNABORTED', 'the agent was destroyed');
  }

  #fail(code: string, detail: string): void {
    const error = connectionError(code, detail, 'connect');
    this.#hasGivenUp = true;
    this.#request.destroy(error);
    this.#socket?.destroy(error); // after an upgrade, the request has none
  }

  #upgraded(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      this.#request.on('error', reject);
      this.#request.on('response', (response: IncomingMessage) => {
        response.destroy();
        const detail = 'the server does not offer the fabric';
        reject(connectionError('EPROTONOSUPPORT', detail, 'connect'));
      });
      this.#request.on('upgrade', (_response, duplex, head: Buffer) => {
        const socket = duplex as Socket;
        socket.on('error', () => {}); // node:http has removed its listener
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
    });
  }
}

function requestFor(target: Target): ClientRequest {
  // Not the signal and the timeout of the request that happens to be the first.
  const { signal: _signal, timeout: _timeout, _defaultAgent, ...options } = target;
  const asking = {
    ...options,
    path: '/',
    method: 'OPTIONS',
    headers: { connection: 'Upgrade', upgrade: PROTOCOL },
    // Not that of the program: its global agent may be this one.
    agent: isSecure(target) ? new SecureAgent() : new Agent(),
  };
  const request = isSecure(target)
    ? requestHttps(asking as RequestOptions)
    : requestHttp(asking as ClientRequestArgs);
  request.end();
  return request;
}
