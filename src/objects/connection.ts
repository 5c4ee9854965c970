// A client's way to its server: by HTTP, and, if both sides have an engine, by a channel and the fabric.
import { FirstAbort, onAbort } from '../base/abort-signals.js';
import { withoutContext } from '../base/async-context.js';
import { countAsHandled } from '../base/cancellation.js';
import { closed } from '../base/errors.js';
import { ADDRESS } from '../http/headers.js';
import type { MemoryLease, MemoryPool, RemoteEngine, TransferEngine } from '../transfer/index.js';
import type { PeerHolder } from '../transfer/peer-at.js';
import { type ChannelExchange, GaveWay, openChannel } from './channel-client.js';
import { ObjectError } from './errors.js';
import { type Answer, type Call, type Exchange, FetchExchange, HttpExchange } from './exchange.js';
import { ClientFabric } from './fabric.js';
import { ERROR, MAX_PIECE, MIN_PIECE, WELCOME, type Welcome } from './protocol.js';
import { textsOf } from './xml.js';

// The pool that a client makes. The server may have longer pieces.
const BUFFERS = 8;
const MAX_BUFFER = 4 * 1024 * 1024; // bytes

const BUSY = 503;
/** Channels that may give way to others before a call goes over HTTP. */
const MAX_TRIES = 3;

/** How a connection is made. */
export interface ConnectionOptions {
  readonly engine: TransferEngine | undefined;
  readonly pool: MemoryPool | undefined;
  readonly fetch: typeof fetch | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for the answer to a request. */
  readonly timeout: number;
}

/** What a request uses. */
export interface Way {
  readonly exchange: Exchange;
  readonly fabric: ClientFabric | undefined;
  /** Aborts when the server has gone. Undefined if each request has a connection of its own. */
  readonly ended?: AbortSignal | undefined;
}

// A server learns from the end of the engine that it is gone. So the peer stays after the last client, which it must not keep.
const AFTER_CLOSE: PeerHolder = {
  left: (peer) => countAsHandled(peer.release(AFTER_CLOSE)),
};

export class Connection {
  readonly #base: URL;
  readonly #options: ConnectionOptions;
  readonly #http: Exchange;
  #pool: MemoryPool | undefined;
  #way: Promise<Way> | undefined;
  #channel: ChannelExchange | undefined;
  /** Aborts when the server of the channel has gone. A channel that gives way is followed by another one. */
  #ending = new AbortController();
  readonly #closing = new AbortController();
  readonly #holder: PeerHolder = { left: (peer) => countAsHandled(peer.release(this.#holder)) };
  #server: RemoteEngine | undefined;

  constructor(base: URL, options: ConnectionOptions) {
    this.#base = base;
    this.#options = options;
    this.#http = options.fetch ? new FetchExchange(base, options.fetch) : new HttpExchange(base);
    this.#pool = options.pool;
  }

  /** What ends a call: its signal, close(), and the end of its way. */
  endOf({ ended }: Way, signal: AbortSignal | undefined): FirstAbort {
    return new FirstAbort([signal, this.#closing.signal, ended]);
  }

  /** A buffer of a pool, unless the call ends first. */
  async acquire(
    pool: MemoryPool,
    length: number,
    way: Way,
    signal: AbortSignal | undefined,
  ): Promise<MemoryLease> {
    const end = this.endOf(way, signal);
    try {
      return await pool.acquire(length, { timeout: this.#options.timeout, signal: end.signal });
    } finally {
      end.end();
    }
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The way of the next request. A server that was restarted is met again. */
  way(): Promise<Way> {
    if (this.#channel?.closed) this.#forget();
    this.#way ??= withoutContext(() =>
      this.#meet().catch((error) => {
        this.#forget();
        throw error;
      }),
    );
    return this.#way;
  }

  #forget(): void {
    this.#way = undefined;
    this.#channel = undefined;
  }

  async #meet(): Promise<Way> {
    const { engine, headers, timeout } = this.#options;
    const overHttp = { exchange: this.#http, fabric: undefined };
    if (engine === undefined) return overHttp;
    const fields = { ...headers, [ADDRESS]: engine.address };
    const { signal } = this.#closing;
    const call = { method: 'GET', path: WELCOME, fields, signal, timeout };
    const { status, body } = await this.#http.send(call);
    if (status === BUSY) this.#forget(); // the next request asks again
    const { address, piece } = status === 200 ? welcomeOf(body) : {};
    if (address === undefined || piece === undefined) return overHttp; // another server, or without an engine
    const server = await engine.hold(this.#holder, address);
    if (this.#server && this.#server !== server) countAsHandled(this.#server.release(this.#holder));
    if (this.#server !== server || this.#ending.signal.aborted)
      this.#ending = new AbortController();
    this.#server = server;
    this.#pool ??= engine.pool({ size: Math.min(piece, MAX_BUFFER), count: BUFFERS });
    const fabric = new ClientFabric(engine, server, piece, this.#pool);
    this.#channel = await openChannel(this.#base, headers, timeout, signal);
    if (signal.aborted) this.#channel?.close();
    if (this.#channel === undefined || signal.aborted) return { ...overHttp, fabric };
    const { ended } = this.#channel;
    const ending = this.#ending;
    onAbort(ended, () => {
      ending.abort(ended.reason);
      // What is open with a server that has died should not wait for its silence.
      if (!this.closed) server.doubt();
    });
    return { exchange: this.#channel, fabric, ended: ending.signal };
  }

  /** Sends a request. @throws Error ERR_CLOSED after close(). */
  async send(way: Way, call: Omit<Call, 'timeout'>): Promise<Answer> {
    let { exchange } = way;
    for (let tries = 1; ; tries++) {
      if (this.closed) throw closed('the object client');
      try {
        return await this.#sendOver(exchange, call);
      } catch (error) {
        if (this.closed && !call.signal?.aborted) throw closed('the object client');
        if (!(error instanceof GaveWay)) throw error;
      }
      exchange = tries < MAX_TRIES ? (await this.way()).exchange : this.#http;
    }
  }

  /** Sends a request that ends what a call has begun, also after close(). */
  sendEnd(way: Way, call: Omit<Call, 'timeout'>): Promise<Answer> {
    if (!this.closed) return this.send(way, call);
    return this.#sendOver(this.#http, { ...call, fields: { ...call.fields, connection: 'close' } });
  }

  async #sendOver(exchange: Exchange, call: Omit<Call, 'timeout'>): Promise<Answer> {
    const fields = { ...this.#options.headers, ...call.fields };
    const answer = await exchange.send({ ...call, fields, timeout: this.#options.timeout });
    const code = answer.fields[ERROR];
    // A server that was restarted has another engine.
    if (exchange === this.#http && (code === 'InvalidToken' || code === 'FabricFailed'))
      this.#forget();
    return answer;
  }

  /** Ends the connections, and the pool if the client has made it. */
  async close(): Promise<void> {
    this.#closing.abort(closed('the object client'));
    this.#channel?.close();
    this.#http.close();
    await this.#way?.catch(() => {}); // it may just be made
    this.#server?.holders.add(AFTER_CLOSE);
    await this.#server?.release(this.#holder);
    if (this.#options.pool === undefined) await this.#pool?.close();
  }
}

// Empty for a server of something else.
function welcomeOf(body: Uint8Array): Welcome {
  let welcome: { readonly address?: unknown; readonly piece?: unknown };
  try {
    welcome = Object(JSON.parse(Buffer.from(body).toString()));
  } catch {
    return {};
  }
  const { address, piece } = welcome;
  const isPiece =
    typeof piece === 'number' &&
    Number.isSafeInteger(piece) &&
    piece >= MIN_PIECE &&
    piece <= MAX_PIECE;
  return typeof address === 'string' && isPiece ? { address, piece } : {};
}

const BY_STATUS: Readonly<Record<number, string>> = {
  304: 'NotModified',
  403: 'AccessDenied',
  404: 'NoSuchKey',
  412: 'PreconditionFailed',
  416: 'InvalidRange',
};

const LOST_TOKEN =
  'the server could not use the memory of the client: one of them has lost the other meanwhile, or a token has expired because the clocks of the hosts differ or have jumped';

/** The error of an answer. */
export function errorOf({ status, fields, body }: Answer, key: string | undefined): ObjectError {
  const text = Buffer.from(body).toString();
  const isXml = text.startsWith('<');
  const [ofBody] = isXml ? textsOf(text, 'Code') : [];
  const [detail] = isXml ? textsOf(text, 'Message') : [];
  const [hint] = isXml ? textsOf(text, 'Hint') : [];
  // The token was the client's own: the call may be repeated. S3 has the same code for credentials.
  if (fields[ERROR] === 'InvalidToken')
    return new ObjectError('FabricFailed', { detail: LOST_TOKEN, key });
  const code = fields[ERROR] ?? ofBody ?? BY_STATUS[status] ?? `Http${status}`;
  return new ObjectError(code, { detail, hint, status, key });
}
