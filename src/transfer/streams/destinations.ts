// Where the bytes of outgoing streams go.
import { offAbort, onAbort } from '../../base/abort-signals.js';
import { countAsHandled } from '../../base/cancellation.js';
import { outOfRange } from '../../base/errors.js';
import type { Priority } from '../admission.js';
import type { MemoryPart } from '../memory.js';
import type { RemoteEngine } from '../remote-engine.js';
import type { Series } from '../series.js';
import type { Destination } from './outflow.js';
import type { StreamEnd } from './stream-end.js';

/** Memory that a peer has offered for one write. */
export class MemoryDestination implements Destination {
  readonly chunk = Number.MAX_SAFE_INTEGER;
  readonly flushes = false; // the peer waits for the whole
  readonly #series: Series;
  #left: number;

  constructor(series: Series) {
    this.#series = series;
    this.#left = series.limit;
  }

  async ready(): Promise<void> {}

  async send(part: MemoryPart) {
    this.#left -= part.length;
    if (this.#left < 0) {
      const { limit } = this.#series;
      throw outOfRange(
        'the stream',
        `at most ${limit} bytes, which the token allows`,
        limit - this.#left,
      );
    }
    return { arrived: this.#series.next(part) };
  }

  end(): Promise<void> {
    return this.#series.conclude(true);
  }
}

/** A stream of a peer that offers memory for each chunk. */
export class PeerDestination implements Destination {
  readonly chunk: number;
  readonly flushes = true;
  readonly #remote: RemoteEngine;
  readonly #end: StreamEnd;
  readonly #priority: Priority;
  #index = 0;

  constructor(remote: RemoteEngine, end: StreamEnd, chunk: number, priority: Priority) {
    this.#remote = remote;
    this.#end = end;
    this.chunk = chunk;
    this.#priority = priority;
  }

  ready(): Promise<void> {
    return this.#end.asked(this.#index);
  }

  async send(part: MemoryPart) {
    const index = this.#index++;
    const { signal, timeout } = this.#end;
    const options = { signal, timeout, priority: this.#priority };
    const write = async () => {
      this.#end.announce({ kind: 'filled', chunks: index + 1 });
      const token = (await this.#end.token(index)) as string;
      await this.#remote.write(part, token, options);
    };
    return { arrived: this.#end.explained(write) };
  }

  end(chunks: number, byteLength: number): Promise<void> {
    return this.#end.conclude(chunks, byteLength);
  }
}

/** A stream of this engine, which offers the memory of each chunk to the peer. */
export class OfferedDestination implements Destination {
  readonly flushes = true;
  readonly #end: StreamEnd;
  readonly chunk: number;
  #index = 0;

  constructor(end: StreamEnd, chunk: number) {
    this.#end = end;
    this.chunk = chunk;
  }

  ready(): Promise<void> {
    return this.#end.asked(this.#index);
  }

  async send(part: MemoryPart) {
    const { signal } = this.#end;
    const offer = await this.#end.offer(part, 'read', this.#index++);
    // A peer whose stream has failed may never read the chunk.
    const close = () => countAsHandled(offer.close());
    if (signal.aborted) close();
    else onAbort(signal, close);
    const arrived = this.#end.explained(() => offer.arrived.then(() => offer.released));
    return { arrived: arrived.finally(() => offAbort(signal, close)) };
  }

  end(chunks: number, byteLength: number): Promise<void> {
    return this.#end.conclude(chunks, byteLength);
  }
}
