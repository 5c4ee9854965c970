import type { EventEmitter } from 'node:events';
import { withoutContext } from '../base/async-context.js';
import { TimeLimit } from '../base/time-limit.js';
import type { RemoteEngine } from '../transfer/index.js';

interface Met {
  readonly connections: Set<EventEmitter>;
  limit: TimeLimit | undefined;
}

/** The peers that were met over connections. A peer is closed some time after its last connection. */
export class Connections {
  readonly #keep: number;
  readonly #met = new Map<RemoteEngine, Met>();

  /** @param keep milliseconds from the end of the last connection of a peer until it is closed. */
  constructor(keep: number) {
    this.#keep = keep;
  }

  get size(): number {
    return this.#met.size;
  }

  /** A message from the peer has come over a connection. */
  met(peer: RemoteEngine, connection: EventEmitter & { readonly destroyed?: boolean }): void {
    const met = this.#met.get(peer) ?? { connections: new Set(), limit: undefined };
    this.#met.set(peer, met);
    met.limit?.clear();
    if (met.connections.has(connection)) return;
    if (connection.destroyed) {
      this.#left(peer, met);
      return;
    }
    met.connections.add(connection);
    connection.once('close', () => {
      met.connections.delete(connection);
      peer.doubt(); // what is open with a client that has died should not wait for its silence
      if (this.#met.get(peer) === met) this.#left(peer, met);
    });
  }

  #left(peer: RemoteEngine, met: Met): void {
    if (met.connections.size > 0) return;
    const forget = () => {
      this.#met.delete(peer);
      peer.close().catch(() => {}); // the engine has closed
    };
    met.limit?.clear();
    const keep = peer.state === 'lost' ? 0 : this.#keep;
    met.limit = withoutContext(() => new TimeLimit(keep, forget).unref());
  }

  /** Closes all peers. */
  async close(): Promise<void> {
    const peers = [...this.#met];
    this.#met.clear();
    for (const [, { limit }] of peers) limit?.clear();
    await Promise.all(peers.map(([peer]) => peer.close()));
  }
}
