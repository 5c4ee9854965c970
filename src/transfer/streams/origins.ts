// Where the bytes of incoming streams come from.
import type { Priority } from '../admission.js';
import { errnoOf, TransferError } from '../errors.js';
import type { MemoryLease } from '../lease.js';
import type { RemoteEngine } from '../remote-engine.js';
import type { Series } from '../series.js';
import type { Transfer } from '../transfer.js';
import type { Inbound, Origin } from './inflow.js';
import type { Flow } from './outflow.js';
import type { StreamEnd } from './stream-end.js';

type Limits = Pick<Flow, 'pool' | 'signal' | 'timeout'>;

/** Gets memory, and begins to fill it. If that fails, gives the memory back. */
async function inboundOf(
  { pool, signal, timeout }: Limits,
  length: number,
  begin: (lease: MemoryLease) => Promise<{ arrived: Promise<number> }>,
): Promise<Inbound> {
  const lease = await pool.acquireToReceive(length, { signal, timeout });
  try {
    return { lease, ...(await begin(lease)) };
  } catch (error) {
    lease.release();
    throw error;
  }
}

const inPlace = (transfer: Transfer, length: number) => transfer.then(() => length);

/** Ends a stream all of whose bytes have arrived. Throws if they are not those that the peer has sent. */
function conclude(end: StreamEnd, chunks: number, byteLength: number): void {
  end.close();
  const sent = end.ending;
  if (chunks === sent?.chunks && byteLength === sent.byteLength) return;
  throw new TransferError(errnoOf('FI_EIO'), true, {
    detail: `${byteLength} bytes have arrived, and the peer has sent ${sent?.byteLength ?? 0}`,
  });
}

/** Memory that a peer has offered for one read. */
export class MemoryOrigin implements Origin {
  readonly #series: Series;
  readonly #limits: Limits;
  #left: number;

  constructor(series: Series, limits: Limits) {
    this.#series = series;
    this.#limits = limits;
    this.#left = series.limit;
  }

  ask(): void {}

  async next(): Promise<Inbound | undefined> {
    const length = Math.min(this.#limits.pool.size, this.#left);
    if (length === 0) return undefined;
    this.#left -= length;
    return inboundOf(this.#limits, length, async (lease) => ({
      arrived: inPlace(this.#series.next(lease), length),
    }));
  }

  end(): Promise<void> {
    return this.#series.conclude(true);
  }
}

/** A stream of a peer that offers the memory of each chunk. */
export class PeerOrigin implements Origin {
  readonly #remote: RemoteEngine;
  readonly #end: StreamEnd;
  readonly #limits: Limits;
  readonly #priority: Priority;
  #index = 0;

  constructor(remote: RemoteEngine, end: StreamEnd, limits: Limits, priority: Priority) {
    this.#remote = remote;
    this.#end = end;
    this.#limits = limits;
    this.#priority = priority;
  }

  ask(chunks: number): void {
    this.#end.ask(chunks);
  }

  async next(): Promise<Inbound | undefined> {
    const token = await this.#end.token(this.#index++);
    if (token === undefined) return undefined;
    const grant = this.#remote.grant(token);
    const { signal, timeout } = this.#limits;
    const options = { signal, timeout, priority: this.#priority };
    return inboundOf(this.#limits, grant.length, async (lease) => ({
      arrived: this.#end.explained(() =>
        inPlace(this.#remote.read(grant, lease, options), grant.length),
      ),
    }));
  }

  async end(chunks: number, byteLength: number): Promise<void> {
    conclude(this.#end, chunks, byteLength);
  }
}

/** A stream of this engine, which offers memory for each chunk to the peer. */
export class OfferedOrigin implements Origin {
  readonly #end: StreamEnd;
  readonly #limits: Limits;
  #index = 0;

  constructor(end: StreamEnd, limits: Limits) {
    this.#end = end;
    this.#limits = limits;
  }

  ask(chunks: number): void {
    this.#end.ask(chunks);
  }

  async next(): Promise<Inbound | undefined> {
    const index = this.#index++;
    if (!(await this.#end.isFilled(index))) return undefined;
    return inboundOf(this.#limits, this.#limits.pool.size, (lease) => this.#offer(lease, index));
  }

  async #offer(lease: MemoryLease, index: number): Promise<{ arrived: Promise<number> }> {
    const offer = await this.#end.offer(lease, 'write', index);
    const arrived = this.#end.explained(() => offer.arrived.then(({ length }) => length));
    return { arrived: this.#end.wait(arrived, 'stream') };
  }

  async end(chunks: number, byteLength: number): Promise<void> {
    conclude(this.#end, chunks, byteLength);
  }
}
