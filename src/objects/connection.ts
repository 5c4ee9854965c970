// A client's way to its server: by HTTP, and, if both sides have an engine, by a channel and the fabric.
import { FirstAbort, onAbort, reasonOf } from '../base/abort-signals.js';
import { withoutContext } from '../base/async-context.js';
import { countAsHandled } from '../base/cancellation.js';
import { closed } from '../base/errors.js';
import { ADDRESS } from '../http/headers.js';
import type { MemoryLease, MemoryPool, RemoteEngine, TransferEngine } from '../transfer/index.js';
import type { PeerHolder } from '../transfer/peer-at.js';
import { MAX_TEXT, tooLongAnswer } from './answers.js';
import { type ChannelExchange, GaveWay, openChannel } from './channel-client.js';
import type { Answer, Call, Exchange, OpenAnswer } from './exchange.js';
import { ClientFabric } from './fabric.js';
import { FetchExchange } from './fetch-exchange.js';
import { HttpExchange } from './http-exchange.js';
import { ERROR, MAX_PIECE, MIN_PIECE, WELCOME, type Welcome } from './protocol.js';

// The pool that a client makes. The server may have longer pieces.
const BUFFERS = 8;
const MAX_BUFFER = 4 * 1024 * 1024; // bytes

const BUSY = 503;
const MAX_WELCOME = 64 * 1024; // bytes
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
    const answer = await this.#http.open(call);
    if (answer.status === BUSY) this.#forget(); // the next request asks again
    const { address, piece } = await welcomeIn(answer);
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

  /** Sends a request. The caller reads the body of the answer, or cancels it. @throws Error ERR_CLOSED after close(). */
  async open(way: Way, call: Omit<Call, 'timeout'>): Promise<OpenAnswer> {
    let { exchange } = way;
    for (let tries = 1; ; tries++) {
      this.check(undefined);
      try {
        return await this.#openOver(exchange, call);
      } catch (error) {
        if (!(error instanceof GaveWay)) throw this.#reasonOf(error, call.signal);
      }
      exchange = tries < MAX_TRIES ? (await this.way()).exchange : this.#http;
    }
  }

  /** Sends a request, and reads its answer. @throws as open(). ObjectError InvalidAnswer if it is too long. */
  async send(way: Way, call: Omit<Call, 'timeout'>): Promise<Answer> {
    return this.read(await this.open(way, call), call.signal);
  }

  /** Reads a short answer. @throws as send(). */
  async read(answer: OpenAnswer, signal: AbortSignal | undefined): Promise<Answer> {
    const { status, fields, body } = answer;
    const whole = body.whole(MAX_TEXT, tooLongAnswer(answer));
    return { status, fields, body: await this.unlessClosed(whole, signal) };
  }

  /** What a body gives. @throws Error ERR_CLOSED if close() has ended it. */
  async unlessClosed<T>(reading: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      throw this.#reasonOf(error, signal);
    }
  }

  #reasonOf(error: unknown, signal: AbortSignal | undefined): unknown {
    return this.closed && !signal?.aborted ? closed('the object client') : error;
  }

  /** @throws the reason of the signal. Error ERR_CLOSED after close(). */
  check(signal: AbortSignal | undefined): void {
    if (signal?.aborted) throw reasonOf(signal);
    if (this.closed) throw closed('the object client');
  }

  /** Sends a request that ends what a call has begun, also after close(). */
  async sendEnd(way: Way, call: Omit<Call, 'timeout'>): Promise<void> {
    const fields = { ...call.fields, connection: 'close' };
    const answer = await (this.closed
      ? this.#openOver(this.#http, { ...call, fields })
      : this.open(way, call));
    await answer.body.whole(MAX_TEXT, tooLongAnswer(answer));
  }

  async #openOver(exchange: Exchange, call: Omit<Call, 'timeout'>): Promise<OpenAnswer> {
    const fields = { ...this.#options.headers, ...call.fields };
    const answer = await exchange.open({ ...call, fields, timeout: this.#options.timeout });
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

/** What a server says of its engine. Empty for a server of something else. */
async function welcomeIn(answer: OpenAnswer): Promise<Welcome> {
  const tooLong = tooLongAnswer(answer)();
  try {
    const body = await answer.body.whole(MAX_WELCOME, () => tooLong);
    return answer.status === 200 ? welcomeOf(body) : {};
  } catch (error) {
    if (error === tooLong) return {};
    throw error;
  }
}

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
