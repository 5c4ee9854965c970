import { checkObject } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { errnoByCode } from '../base/error-codes.js';
import { FabricError, invalidArgType } from '../base/errors.js';
import type { RemoteEngine, TransferEngine } from '../transfer/index.js';
import { checkEngine } from './check-engine.js';
import { checkHeaders, checkTokens, entriesOf, originOf } from './check-messages.js';
import {
  ADDRESS,
  type AnyHeaders,
  headerOf,
  TOKEN,
  textOf,
  tokensOf,
  type WithToken,
} from './headers.js';

const UNCLONEABLE = uncloneable('a TransferClient belongs to its engine: make one on each thread');

/** The part of fetch() that a client uses. That of undici fits too. */
export type Fetch<I extends object, R extends { readonly headers: AnyHeaders }> = (
  url: string | URL,
  init?: I,
) => Promise<R>;

/** Options of a request, with those of fetch(). */
export type TransferRequest<I> = I & {
  /** The tokens that the server gets: offers and streams for the server, which `client.peer(url)` returns. */
  readonly tokens?: readonly (string | WithToken)[];
};

/** A response, and what it says about the engine of the server. */
export interface TransferResponse<R> {
  readonly response: R;
  /** The engine of the server. */
  readonly peer: RemoteEngine;
  /** The tokens of the response, in their order. */
  readonly tokens: readonly string[];
}

/** The client's side of transfers that are arranged over HTTP. {@link transferClient} makes it. */
export class TransferClient<I extends object, R extends { readonly headers: AnyHeaders }> {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly engine: TransferEngine;
  readonly #fetch: Fetch<I, R>;
  readonly #peers = new Map<string, { readonly address: string; readonly peer: RemoteEngine }>();

  /** @internal */
  constructor(engine: TransferEngine, fetch: Fetch<I, R>) {
    this.engine = engine;
    this.#fetch = fetch;
  }

  /** The number of servers that were met. */
  get servers(): number {
    return this.#peers.size;
  }

  /**
   * Calls fetch() with the address of the engine, and meets the engine of the server. Resolves for each status, as fetch()
   * does: look at `response.ok` before you use the tokens.
   *
   * @throws as fetch() does. FabricError FI_ENODATA if the response has no address of an engine. TypeError
   * ERR_INVALID_ARG_VALUE if this engine cannot reach that engine.
   */
  async fetch(url: string | URL, init?: TransferRequest<I>): Promise<TransferResponse<R>> {
    originOf(url);
    const { tokens = [], ...rest } = { ...checkObject('init', init) } as TransferRequest<I> & {
      headers?: object;
    };
    const headers = { ...entriesOf(rest.headers), ...this.headers(tokens) };
    const response = await this.#fetch(url, { ...rest, headers } as unknown as I);
    return { response, ...(await this.received(url, response?.headers)) };
  }

  /** The headers of a request, for programs that do not use fetch(). */
  headers(tokens: readonly (string | WithToken)[] = []): Record<string, string> {
    const address = { [ADDRESS]: this.engine.address };
    const checked = checkTokens(tokens);
    return checked.length === 0 ? address : { ...address, [TOKEN]: textOf(checked) };
  }

  /** What the headers of a response say about the engine of the server, for programs that do not use fetch(). */
  async received(
    url: string | URL,
    headers: AnyHeaders,
  ): Promise<{ peer: RemoteEngine; tokens: string[] }> {
    const origin = originOf(url);
    const address = headerOf(checkHeaders(headers), ADDRESS);
    if (address === undefined) throw notThere(origin);
    return { peer: await this.#meet(origin, address), tokens: tokensOf(headers) };
  }

  /**
   * The engine of the server of a URL, for offers to it. Sends a HEAD request if no earlier response has its address.
   *
   * @throws as fetch() does.
   */
  async peer(url: string | URL): Promise<RemoteEngine> {
    const known = this.#peers.get(originOf(url))?.peer;
    if (known !== undefined && !known.closed && known.state !== 'lost') return known;
    const { peer } = await this.fetch(url, { method: 'HEAD' } as unknown as TransferRequest<I>);
    return peer;
  }

  // A server that was restarted has another engine.
  async #meet(origin: string, address: string): Promise<RemoteEngine> {
    const known = this.#peers.get(origin);
    if (known?.address === address && !known.peer.closed) return known.peer;
    const peer = await this.engine.peer(address);
    this.#peers.set(origin, { address, peer });
    if (known !== undefined && known.peer !== peer) known.peer.close().catch(() => {});
    return peer;
  }

  /** Forgets all servers. The engine stays open. */
  async close(): Promise<void> {
    const known = [...this.#peers.values()];
    this.#peers.clear();
    await Promise.all(known.map(({ peer }) => peer.close()));
  }

  /** Forgets all servers: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const notThere = (origin: string) =>
  new FabricError(errnoByCode.FI_ENODATA ?? 0, 'transfer', {
    detail: `${origin} has sent no ${ADDRESS}`,
    hint: 'let the server call transferServer(), and proxies pass its headers',
  });

/**
 * Lets an engine meet the engines of HTTP servers, and exchange tokens with them in headers. The requests go by the
 * fetch() of Node.js.
 *
 * @throws TypeError for invalid arguments.
 */
export function transferClient(engine: TransferEngine): TransferClient<RequestInit, Response>;
/**
 * Lets an engine meet the engines of HTTP servers, and exchange tokens with them in headers.
 *
 * @param fetch that of undici with an agent, or any with the same arguments.
 * @throws TypeError for invalid arguments.
 */
export function transferClient<I extends object, R extends { readonly headers: AnyHeaders }>(
  engine: TransferEngine,
  fetch: Fetch<I, R>,
): TransferClient<I, R>;
export function transferClient(
  engine: TransferEngine,
  fetch: Fetch<never, Response> = globalThis.fetch as unknown as Fetch<never, Response>,
): TransferClient<never, Response> {
  checkEngine(engine);
  if (typeof fetch !== 'function') throw invalidArgType('fetch', 'a function', fetch);
  return new TransferClient(engine, fetch);
}
