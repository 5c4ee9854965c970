// Where the bytes of incoming streams come from.
import type { Priority } from '../admission.js';
import { errnoOf, TransferError } from '../errors.js';
import type { MemoryPool } from '../memory-pool.js';
import type { RemoteEngine } from '../remote-engine.js';
import type { Series } from '../series.js';
import type { Transfer } from '../transfer.js';
import type { Inbound, Origin } from './inflow.js';
import type { Flow } from './outflow.js';
import type { StreamEnd } from './stream-end.js';

const inPlace = (transfer: Transfer, length: number) => transfer.then(() => length);

/** Memory that a peer has offered for one read. */
export class MemoryOrigin implements Origin {
  readonly #series: Series;
  readonly #flow: Flow;
  #left: number;

  constructor(series: Series, flow: Flow) {
    this.#series = series;
    this.#flow = flow;
    this.#left = series.limit;
  }

  async next(): Promise<Inbound | undefined> {
    const { pool, signal, timeout } = this.#flow;
    const length = Math.min(pool.size, this.#left);
    if (length === 0) return undefined;
    const lease = await pool.acquire(length, { signal, timeout });
    this.#left -= length;
    return { lease, arrived: inPlace(this.#series.next(lease), length) };
  }

  end(): Promise<void> {
    return this.#series.conclude(true);
  }
}

/** A stream of a peer that offers the memory of each chunk. */
export class PeerOrigin implements Origin {
  readonly #remote: RemoteEngine;
  readonly #end: StreamEnd;
  readonly #pool: MemoryPool;
  readonly #priority: Priority;

  constructor(remote: RemoteEngine, end: StreamEnd, pool: MemoryPool, priority: Priority) {
    this.#remote = remote;
    this.#end = end;
    this.#pool = pool;
    this.#priority = priority;
  }

  async next(): Promise<Inbound | undefined> {
    const token = await this.#end.nextToken('download');
    if (token === undefined) return undefined;
    const { signal, timeout } = this.#end;
    const grant = this.#remote.grant(token);
    const lease = await this.#pool.acquire(grant.length, { signal, timeout });
    const options = { signal, timeout, priority: this.#priority };
    return { lease, arrived: inPlace(this.#remote.read(grant, lease, options), grant.length) };
  }

  async end(): Promise<void> {
    this.#end.close();
  }
}

/** A stream of this engine, which offers memory for each chunk to the peer. */
export class OfferedOrigin implements Origin {
  readonly #end: StreamEnd;
  readonly #pool: MemoryPool;
  readonly #chunk: number;
  #chunks = Number.POSITIVE_INFINITY;
  #byteLength = 0;
  #index = 0;

  constructor(end: StreamEnd, pool: MemoryPool, chunk: number) {
    this.#end = end;
    this.#pool = pool;
    this.#chunk = chunk;
    end.ended.then(({ chunks, byteLength }) => {
      this.#chunks = chunks;
      this.#byteLength = byteLength;
    });
  }

  async next(): Promise<Inbound | undefined> {
    const index = this.#index++;
    if (index >= this.#chunks) return undefined;
    const { peer, signal, timeout } = this.#end;
    const lease = await this.#pool.acquire(this.#chunk, { signal, timeout });
    const offer = await lease.offer({ access: 'write', to: peer, expires: timeout });
    const message = { kind: 'chunk', index, token: offer.token } as const;
    await this.#end.wait(this.#end.tell(message), 'stream');
    const arrived = offer.arrived.then(({ length }) => length);
    const unused = this.#end.ended.then(({ chunks }) => (index < chunks ? arrived : 0));
    return { lease, arrived: this.#end.wait(Promise.race([arrived, unused]), 'stream') };
  }

  async end(chunks: number, byteLength: number): Promise<void> {
    this.#end.close();
    if (chunks === this.#chunks && byteLength === this.#byteLength) return;
    throw new TransferError(errnoOf('FI_EIO'), true, {
      detail: `${byteLength} bytes have arrived, and the peer has sent ${this.#byteLength}`,
    });
  }
}
