import type { Peer } from '../base/peer.js';
import { type Rail, working } from './rails.js';

/** The addresses of a peer's rails in the address vectors of this engine's rails. */
export class Addresses {
  readonly #rails: readonly Rail[];
  // By local rail, then by rail of the peer. A broken local rail has no entries.
  readonly #inserted: (readonly Peer[])[] = [];
  readonly #count: number;

  /** @throws FabricError as av.insert() does. In this case nothing stays inserted. */
  constructor(rails: readonly Rail[], addresses: readonly Uint8Array[]) {
    this.#rails = rails;
    this.#count = addresses.length;
    try {
      for (const rail of working(rails)) {
        const peers: Peer[] = [];
        this.#inserted.push(peers);
        if (rail === undefined) continue;
        for (const address of addresses) peers.push(rail.endpoint.av.insert(address));
      }
    } catch (error) {
      this.remove().catch(() => {}); // the provider has refused them
      throw error;
    }
  }

  /** The handles of the peer's rails, by local rail. 0 for a local rail that reaches none of them. */
  get handles(): Uint32Array {
    const handles = new Uint32Array(this.#rails.length * this.#count);
    for (const [i, peers] of this.#inserted.entries()) {
      handles.set(
        peers.map(({ handle }) => handle),
        i * this.#count,
      );
    }
    return handles;
  }

  /** Resolves when no operation to the peer is in flight. Addresses that another engine has too stay inserted. */
  async remove(): Promise<void> {
    const removing = this.#inserted.flatMap((peers, i) =>
      peers.map((peer) => this.#rails[i]?.endpoint.av.remove(peer)),
    );
    await Promise.all(removing);
  }
}
