import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { checkMilliseconds, checkObject, checkOptions, namesOf } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { invalidArgType } from '../base/errors.js';
import type { RemoteEngine, TransferEngine } from '../transfer/index.js';
import { checkEngine } from './check-engine.js';
import { checkRequest, checkResponse, checkTokens } from './check-messages.js';
import { Connections } from './connections.js';
import { ADDRESS, headerOf, TOKEN, textOf, tokensOf, type WithToken } from './headers.js';

const UNCLONEABLE = uncloneable('a TransferServer belongs to its engine: make one on each thread');
const KEEP = 60_000; // ms
const NAMES = namesOf<TransferServerOptions>({ keep: 1 });

/** Options of {@link transferServer}. */
export interface TransferServerOptions {
  /** Milliseconds that a client is remembered after its last connection has ended. If omitted, 60,000. */
  readonly keep?: number;
}

/** A request of node:http, node:http2, Express or Fastify. */
export type AnyRequest =
  | IncomingMessage
  | Http2ServerRequest
  | { readonly raw: IncomingMessage | Http2ServerRequest };

/** A response of node:http, node:http2, Express or Fastify. */
export type AnyResponse =
  | ServerResponse
  | Http2ServerResponse
  | { readonly raw: ServerResponse | Http2ServerResponse };

/** A client whose request has the address of its engine. */
export interface TransferClientOfRequest {
  /** The engine of the client. */
  readonly peer: RemoteEngine;
  /** The tokens of the request, in their order. */
  readonly tokens: readonly string[];
  /** Puts the tokens of offers or streams into the response. Call it before the headers are sent. */
  reply(...tokens: (string | WithToken)[]): void;
}

/** Where requests come from: a server of node:http or node:http2, or an instance of Fastify. */
export type RequestSource = EventEmitter | { readonly server: EventEmitter };

/** The server's side of transfers that are arranged over HTTP. {@link transferServer} makes it. */
export class TransferServer {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly engine: TransferEngine;
  readonly #connections: Connections;

  /** @internal */
  constructor(engine: TransferEngine, keep: number) {
    this.engine = engine;
    this.#connections = new Connections(keep);
  }

  /** The number of clients that are remembered. */
  get clients(): number {
    return this.#connections.size;
  }

  /**
   * Adds the address of the engine to the responses to all requests that have one. Call it before listen().
   *
   * @throws TypeError if it is not a server.
   */
  attach(source: RequestSource): this {
    const given = checkObject('server', source) as { server?: EventEmitter };
    const server = 'server' in given ? given.server : (source as EventEmitter);
    if (typeof server?.prependListener !== 'function')
      throw invalidArgType('server', 'a server of node:http, or an instance of Fastify', source);
    server.prependListener('request', this.handler);
    return this;
  }

  /** A middleware for Express that does the same: `app.use(transfers.handler)`. */
  readonly handler = (request: AnyRequest, response: AnyResponse, next?: () => void): void => {
    const { headers } = checkRequest(request);
    const raw = checkResponse(response);
    if (headerOf(headers, ADDRESS) !== undefined) raw.setHeader(ADDRESS, this.engine.address);
    if (next === undefined) return;
    if (typeof next !== 'function') throw invalidArgType('next', 'a function', next);
    next();
  };

  /**
   * The engine and the tokens of the client of a request. Undefined if the request has no address, as that of a client
   * without libfabric.
   *
   * @throws TypeError ERR_INVALID_ARG_VALUE if the address is malformed or of an engine that this one does not reach.
   * Its `statusCode` is 400, which Express and Fastify reply.
   */
  async clientOf(
    request: AnyRequest,
    response: AnyResponse,
  ): Promise<TransferClientOfRequest | undefined> {
    const raw = checkRequest(request);
    const rawResponse = checkResponse(response);
    const connection = connectionOf(raw);
    const address = headerOf(raw.headers, ADDRESS);
    if (address === undefined) return undefined;
    this.handler(request, response);
    const peer = await this.engine.peer(address).catch((error) => {
      throw badRequest(error);
    });
    this.#connections.met(peer, connection);
    return {
      peer,
      tokens: tokensOf(raw.headers),
      reply: (...tokens) => {
        rawResponse.setHeader(TOKEN, textOf(checkTokens(tokens)));
      },
    };
  }

  /** Forgets all clients. The engine stays open. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Forgets all clients: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

// The socket of a request of HTTP/2 is a proxy, and many requests share its session.
function connectionOf(request: IncomingMessage | Http2ServerRequest): EventEmitter {
  const session = 'stream' in request ? request.stream?.session : undefined;
  const connection: EventEmitter | undefined = session ?? request.socket;
  if (typeof connection?.once === 'function') return connection;
  throw invalidArgType('request', 'a request with a connection', request);
}

const badRequest = (error: unknown) =>
  error instanceof TypeError ? Object.assign(error, { status: 400, statusCode: 400 }) : error;

/**
 * Lets the clients of an HTTP server meet an engine, and exchange tokens with it in headers. The program calls
 * {@link TransferServer.clientOf} for the requests that are about transfers.
 *
 * @param source a server of node:http or node:http2, or an instance of Fastify. Without it, use the handler.
 * @throws TypeError, RangeError for invalid arguments.
 */
export function transferServer(
  engine: TransferEngine,
  source?: RequestSource,
  options: TransferServerOptions = {},
): TransferServer {
  checkEngine(engine);
  const { keep } = checkOptions('options', options, NAMES);
  const milliseconds = keep === undefined ? KEEP : checkMilliseconds('options.keep', keep);
  const server = new TransferServer(engine, milliseconds);
  return source === undefined ? server : server.attach(source);
}
