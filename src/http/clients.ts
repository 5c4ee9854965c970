// The engines of the clients of a server, as strangers name them in their requests.
import type { EventEmitter } from 'node:events';
import { unlessAborted } from '../base/abort-signals.js';
import { withoutContext } from '../base/async-context.js';
import { countAsHandled } from '../base/cancellation.js';
import { checkInteger, checkMilliseconds, namesOf } from '../base/checks.js';
import { errnoByCode } from '../base/error-codes.js';
import { closed, FabricError } from '../base/errors.js';
import type { Origin } from '../base/origin.js';
import { TimeLimit } from '../base/time-limit.js';
import type { Admit, RemoteEngine, TransferEngine } from '../transfer/index.js';
import type { PeerHolder } from '../transfer/peer-at.js';
import { checkAdmit } from '../transfer/peer-options.js';

const KEEP = 60_000; // ms
const MAX_CLIENTS = 1024;

/** Options of the clients of a server. */
export interface ClientsOptions {
  /** Milliseconds that the engine of a client is remembered after its last request. Default: 60,000. */
  readonly keep?: number;
  /**
   * The most engines of clients at the same time. For a further one, the engine is forgotten whose last request is the
   * longest ago. If all of them have requests or transfers in progress, it is refused. Default: 1024.
   */
  readonly maxClients?: number;
  /**
   * Decides about the address of an engine that is neither sealed with the engine's `secret` nor of the host that the
   * request came from, and about each one of efa. If omitted, the first is refused, and the second admitted.
   */
  readonly admit?: Admit;
}

export const CLIENTS_NAMES = namesOf<ClientsOptions>({ keep: 1, maxClients: 1, admit: 1 });

/** Checks the values of the options. */
export function checkClientsOptions({ keep, maxClients, admit }: ClientsOptions): void {
  if (keep !== undefined) checkMilliseconds('options.keep', keep);
  if (maxClients !== undefined) checkInteger('options.maxClients', maxClients, 1);
  checkAdmit(admit);
}

/** Emits 'close' when a connection ends. */
type Ends = object & Partial<Pick<EventEmitter, 'once'>> & { readonly destroyed?: boolean };

/** A client, its connections, and its requests in progress. */
interface Met {
  readonly connections: Set<Ends>;
  requests: number;
  limit: TimeLimit | undefined;
}

/** A client that has a request in progress. */
export interface Meeting {
  readonly peer: RemoteEngine;
  /** The request has ended. It may be called again. */
  done(): void;
}

export class Clients {
  readonly #engine: TransferEngine;
  readonly #keep: number;
  readonly #max: number;
  readonly #admit: Admit | undefined;
  readonly #ending = new AbortController();
  /** The one whose last request is the longest ago comes first. */
  readonly #met = new Map<RemoteEngine, Met>();
  /** The clients of each connection. */
  readonly #clients = new WeakMap<Ends, Set<RemoteEngine>>();

  readonly #holder: PeerHolder = {
    makeRoom: () => this.#makeRoom(),
    held: (peer) => this.#begin(peer),
    left: (peer) => {
      if (this.#met.get(peer)?.requests === 0) this.#forget(peer);
    },
  };

  constructor(engine: TransferEngine, options: ClientsOptions) {
    const { keep = KEEP, maxClients = MAX_CLIENTS, admit } = options;
    this.#engine = engine;
    this.#keep = keep;
    this.#max = maxClients;
    this.#admit = admit;
  }

  get size(): number {
    return this.#met.size;
  }

  /**
   * The engine of an address that came with a request.
   *
   * @param source the host that the connection comes from.
   * @param ends emits 'close' when the connection ends.
   * @throws as engine.peer() does. FabricError FI_EBUSY if there are too many.
   */
  async meet(
    address: string,
    connection: Origin,
    source: string,
    ends: Ends = connection,
  ): Promise<Meeting> {
    const sender = { connection, source, admit: this.#admit };
    const holding = this.#engine.hold(this.#holder, address, sender);
    const peer = await unlessAborted(this.#ending.signal, holding);
    const met = this.#met.get(peer);
    if (met) this.#watch(ends, peer, met);
    let isDone = false;
    const done = () => {
      if (isDone) return;
      isDone = true;
      if (met === undefined) return;
      met.requests -= 1;
      if (met.requests === 0 && this.#met.get(peer) === met) this.#rest(peer, met);
    };
    return { peer, done };
  }

  // What is open with a client that has died should not wait for its silence.
  #watch(ends: Ends, peer: RemoteEngine, met: Met): void {
    if (ends.destroyed) return;
    const known = this.#clients.get(ends);
    const clients = known ?? new Set();
    clients.add(peer);
    met.connections.add(ends);
    if (known) return;
    this.#clients.set(ends, clients);
    ends.once?.('close', () => {
      for (const each of clients) {
        this.#met.get(each)?.connections.delete(ends);
        each.doubt();
      }
    });
  }

  #begin(peer: RemoteEngine): void {
    const met = this.#met.get(peer) ?? { connections: new Set(), requests: 0, limit: undefined };
    this.#met.delete(peer);
    this.#met.set(peer, met);
    met.limit?.clear();
    met.requests += 1;
  }

  #rest(peer: RemoteEngine, met: Met): void {
    if (peer.state === 'lost') {
      this.#forget(peer);
      return;
    }
    const expired = () => (isIdle(peer, met) ? this.#forget(peer) : this.#rest(peer, met));
    met.limit = withoutContext(() => new TimeLimit(this.#keep, expired).unref());
  }

  // A stranger must not make us keep any number of engines.
  #makeRoom(): void {
    this.#ending.signal.throwIfAborted();
    if (this.#met.size < this.#max) return;
    for (const [peer, met] of this.#met) {
      if (!isIdle(peer, met)) continue;
      this.#forget(peer);
      return;
    }
    throw new FabricError(errnoByCode.FI_EBUSY as number, 'transfer', {
      detail: `${this.#met.size} clients have requests or transfers in progress`,
      hint: 'try again later; see the option maxClients',
    });
  }

  #forget(peer: RemoteEngine): void {
    const met = this.#met.get(peer);
    met?.limit?.clear();
    for (const ends of met?.connections ?? []) this.#clients.get(ends)?.delete(peer);
    this.#met.delete(peer);
    countAsHandled(peer.release(this.#holder)); // the engine may have closed
  }

  /** Meets nobody any more. What `admit` has not answered yet rejects with ERR_CLOSED, and its answer is dropped. */
  end(): void {
    this.#ending.abort(closed('the server'));
  }

  /** Forgets all. */
  async close(): Promise<void> {
    const peers = [...this.#met];
    this.#met.clear();
    for (const [, { limit }] of peers) limit?.clear();
    await Promise.all(peers.map(([peer]) => peer.release(this.#holder)));
  }
}

const isIdle = ({ life }: RemoteEngine, { requests }: Met): boolean =>
  requests === 0 && life.open === 0;
