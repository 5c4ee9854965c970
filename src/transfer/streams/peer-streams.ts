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
import type { StreamReport } from './run.js';
import { checkParts, type StreamSource, sourceOf, taking } from './sources.js';
import { checkStreamOptions, type StreamOptions } from './stream-options.js';
import { decodeStreamToken, isStreamToken, type StreamToken } from './stream-token.js';
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

  /** Sends the bytes of a source. An argument that is wrong leaves the token as it is. */
  async upload(
    source: StreamSource,
    token: string | Grant,
    given: StreamOptions,
  ): Promise<StreamReport> {
    return taking(sourceOf('source', source), async (bytes) => {
      this.#check(given);
      if (isStreamToken(token))
        this.#context.streams.checkUnused(this.#peer, this.#decode('write', token));
      else this.#transfers.grantOfSeries('write', token);
      checkParts('source', source);
      if (bytes.check) await bytes.check();
      return this.writable(token, given).sendAll(bytes);
    });
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
    const remove = this.#context.streams.add({ peer: this.#peer, isUnderWay: true, fail });
    const leave = () => {
      remove();
      if (signal !== undefined) offAbort(signal, abort);
    };
    return { series, flow: { pool, timeout, signal: controller.signal, fail } };
  }

  #decode(access: Access, token: string): StreamToken {
    const { id, secret } = this.#context;
    return decodeStreamToken(token, access, { owner: this.#peer.identity, self: id, secret });
  }

  #open(access: Access, token: string, { pool, signal, timeout }: Checked) {
    const content = this.#decode(access, token);
    const end = this.#context.streams.use(this.#peer, content, { signal, timeout });
    const { chunk } = content;
    const flow = end.flow(pool);
    end.tell({ kind: 'open', chunk: pool.size }).catch(flow.fail);
    return { end, chunk, flow };
  }
}
