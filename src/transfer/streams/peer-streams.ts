// The streams whose tokens a peer has made.
import { offAbort, onAbort, reasonOf } from '../../base/abort-signals.js';
import type { Access } from '../../diagnostics/transfer-state.js';
import type { PeerContext, RemoteEngine } from '../remote-engine.js';
import type { Series } from '../series.js';
import type { Grant } from '../token.js';
import type { Transfers } from '../transfers.js';
import { MemoryDestination, PeerDestination } from './destinations.js';
import { inflow, type Origin } from './inflow.js';
import { MemoryOrigin, PeerOrigin } from './origins.js';
import { type Destination, type Flow, outflow } from './outflow.js';
import { checkStreamOptions, type StreamOptions } from './stream-options.js';
import { decodeStreamToken, isStreamToken } from './stream-token.js';
import { TransferReadable } from './transfer-readable.js';
import { TransferWritable } from './transfer-writable.js';

type Checked = ReturnType<typeof checkStreamOptions> & Pick<Flow, 'pool'>;

/** Makes the streams to and from the memory of a peer. */
export class PeerStreams {
  readonly #peer: RemoteEngine;
  readonly #context: PeerContext;
  readonly #transfers: Transfers;

  constructor(peer: RemoteEngine, context: PeerContext, transfers: Transfers) {
    this.#peer = peer;
    this.#context = context;
    this.#transfers = transfers;
  }

  writable(token: string | Grant, given: StreamOptions): TransferWritable {
    const options = this.#check(given);
    const { destination, flow } = isStreamToken(token)
      ? this.#toStream(token, options)
      : this.#toMemory(token, options);
    return new TransferWritable({ ...flow, run: (source) => outflow(source, destination, flow) });
  }

  readable(token: string | Grant, given: StreamOptions): TransferReadable {
    const options = this.#check(given);
    const { origin, flow } = isStreamToken(token)
      ? this.#fromStream(token, options)
      : this.#fromMemory(token, options);
    return new TransferReadable({ ...flow, run: (sink) => inflow(origin, sink, flow) });
  }

  #check(options: StreamOptions): Checked {
    this.#peer.checkOpen();
    const checked = checkStreamOptions(options);
    return { ...checked, pool: checked.pool ?? this.#context.streams.pool };
  }

  #toMemory(token: string | Grant, options: Checked): { destination: Destination; flow: Flow } {
    const { series, flow } = this.#series('write', token, options);
    return { destination: new MemoryDestination(series), flow };
  }

  #fromMemory(token: string | Grant, options: Checked): { origin: Origin; flow: Flow } {
    const { series, flow } = this.#series('read', token, options);
    return { origin: new MemoryOrigin(series, flow), flow };
  }

  #toStream(token: string, options: Checked): { destination: Destination; flow: Flow } {
    const { end, chunk, flow } = this.#open('write', token, options);
    return { destination: new PeerDestination(this.#peer, end, chunk, options.priority), flow };
  }

  #fromStream(token: string, options: Checked): { origin: Origin; flow: Flow } {
    const { end, flow } = this.#open('read', token, options);
    return { origin: new PeerOrigin(this.#peer, end, flow, options.priority), flow };
  }

  #series(access: Access, token: string | Grant, { pool, signal, timeout, priority }: Checked) {
    const controller = new AbortController();
    const options = { signal: controller.signal, timeout, priority };
    const series: Series = this.#transfers.series(access, token, options, () => leave());
    const fail = (error: unknown) => {
      if (series.isConcluded) return;
      controller.abort(error);
      series.conclude(false);
    };
    const abort = () => fail(reasonOf(signal as AbortSignal));
    if (signal !== undefined) onAbort(signal, abort);
    const remove = this.#context.streams.add({ peer: this.#peer, fail });
    const leave = () => {
      remove();
      if (signal !== undefined) offAbort(signal, abort);
    };
    return { series, flow: { pool, timeout, signal: controller.signal, fail } };
  }

  #open(access: Access, token: string, { pool, signal, timeout }: Checked) {
    const { id, secret, streams } = this.#context;
    const engines = { owner: this.#peer.identity, self: id, secret };
    const { stream, chunk } = decodeStreamToken(token, access, engines);
    const end = streams.use(this.#peer, stream, { signal, timeout });
    const flow = end.flow(pool);
    end.tell({ kind: 'open', chunk: pool.size }).catch(flow.fail);
    return { end, chunk, flow };
  }
}
