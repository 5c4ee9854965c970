import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { checkObject, checkOptions } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { isOfFullVector } from '../base/error-hints.js';
import { FabricError, invalidArgType } from '../base/errors.js';
import { checkOrigin, type Origin, sourceOfRequest } from '../base/origin.js';
import type { RemoteEngine, TransferEngine } from '../transfer/index.js';
import { checkEngine } from './check-engine.js';
import { checkRequest, checkResponse, checkTokens } from './check-messages.js';
import { CLIENTS_NAMES, Clients, type ClientsOptions, checkClientsOptions } from './clients.js';
import { ADDRESS, headerOf, TOKEN, textOf, tokensOf, type WithToken } from './headers.js';

const UNCLONEABLE = uncloneable('a TransferServer belongs to its engine: make one on each thread');

/** Options of {@link transferServer}. */
export type TransferServerOptions = ClientsOptions;

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
  readonly #clients: Clients;

  /** @internal */
  constructor(engine: TransferEngine, options: TransferServerOptions) {
    this.engine = engine;
    this.#clients = new Clients(engine, options);
  }

  /** The number of clients that are remembered. */
  get clients(): number {
    return this.#clients.size;
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
   * The peer stays open while the request is in progress, and for some time after it: `keep`.
   *
   * @throws TypeError ERR_INVALID_ARG_VALUE if the address is malformed or of an engine that this one does not reach.
   * FabricError FI_EACCES if it is not admitted, FI_EBUSY if there are too many clients, FI_EMFILE if the process has no
   * file descriptor, FI_EADDRNOTAVAIL if the provider of the engine has no room for another one. Their `statusCode` is
   * 400, 403, and 503 for the others, which Express and Fastify reply.
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
    const source = sourceOfRequest(connection, raw.headers);
    const meeting = this.#clients.meet(address, connection, source, sessionOf(raw) ?? connection);
    const { peer, done } = await meeting.catch((error) => {
      throw withStatus(error);
    });
    if (hasEnded(rawResponse)) done();
    else rawResponse.once('close', done);
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
    return this.#clients.close();
  }

  /** Forgets all clients: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The session of a request of HTTP/2, whose socket is a proxy that ends with the request. */
const sessionOf = (request: IncomingMessage | Http2ServerRequest): EventEmitter | undefined =>
  'stream' in request ? request.stream?.session : undefined;

// The socket of a request of HTTP/2 is a proxy.
function connectionOf(request: IncomingMessage | Http2ServerRequest): Origin {
  const { socket } = request;
  if (typeof socket === 'object' && socket !== null) return checkOrigin('request.socket', socket);
  throw invalidArgType('request', 'a request with a connection', request);
}

const hasEnded = (response: ServerResponse | Http2ServerResponse): boolean =>
  response.closed || ('stream' in response && response.stream?.destroyed === true);

const BUSY: readonly string[] = ['FI_EBUSY', 'FI_EMFILE', 'ENFILE'];

function statusOf(error: unknown): number | undefined {
  if (error instanceof TypeError) return 400;
  if (!FabricError.is(error)) return undefined;
  if (error.code === 'FI_EACCES') return 403;
  return BUSY.includes(error.code) || isOfFullVector(error) ? 503 : undefined;
}

function withStatus(error: unknown): unknown {
  const status = statusOf(error);
  return status === undefined
    ? error
    : Object.assign(error as Error, { status, statusCode: status });
}

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
  const checked = checkOptions('options', options, CLIENTS_NAMES);
  checkClientsOptions(checked);
  const server = new TransferServer(engine, checked);
  return source === undefined ? server : server.attach(source);
}
