import { offAbort, onAbort, reasonOf } from '../base/abort-signals.js';
import { endsWith } from '../base/ends.js';

interface Watched {
  readonly requests: Set<number>;
  readonly onAbort: () => void;
}

/**
 * The requests that a signal may abort. An unposted operation is removed, and a posted receive is
 * cancelled. A posted send or RMA operation cannot be cancelled: its promise rejects, and its
 * memory stays in use until the provider has completed it.
 */
export class AbortWatch {
  readonly #signals = new Map<AbortSignal, Watched>();
  readonly #signalOf = new Map<number, AbortSignal>();
  readonly #cancel: (request: number) => void;
  readonly #ended: (request: number) => Promise<void>;

  /** @param ended resolves when an aborted request has ended. */
  constructor(cancel: (request: number) => void, ended: (request: number) => Promise<void>) {
    this.#cancel = cancel;
    this.#ended = ended;
  }

  watch(request: number, signal: AbortSignal): void {
    let watched = this.#signals.get(signal);
    if (watched === undefined) {
      const requests = new Set<number>();
      watched = { requests, onAbort: () => this.#abort(signal, requests) };
      this.#signals.set(signal, watched);
      onAbort(signal, watched.onAbort);
    }
    watched.requests.add(request);
    this.#signalOf.set(request, signal);
  }

  #abort(signal: AbortSignal, requests: ReadonlySet<number>): void {
    const all = [...requests];
    endsWith(reasonOf(signal), Promise.all(all.map(this.#ended)));
    for (const each of all) this.#cancel(each);
  }

  /** The abort reason of a request. Undefined if it was not aborted. */
  reasonOf(request: number): unknown {
    const signal = this.#signalOf.get(request);
    return signal?.aborted ? reasonOf(signal) : undefined;
  }

  forget(request: number): void {
    if (this.#signalOf.size === 0) return;
    const signal = this.#signalOf.get(request);
    if (signal === undefined) return;
    this.#signalOf.delete(request);
    const watched = this.#signals.get(signal) as Watched;
    watched.requests.delete(request);
    if (watched.requests.size > 0) return;
    offAbort(signal, watched.onAbort);
    this.#signals.delete(signal);
  }
}
