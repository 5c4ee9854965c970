import type { Peer } from '../base/peer.js';
import { type Rail, working } from './rails.js';

/** The addresses of a peer's rails in the address vectors of this engine's rails. */
export class Addresses {
  readonly #rails: readonly Rail[];
  // By local rail, then by rail of the peer. A broken local rail has no entries.
  readonly #inserted: (readonly (Peer | undefined)[])[] = [];
  readonly #count: number;

  /**
   * @param addresses undefined for a rail of the peer that must not be used.
   * @throws FabricError as av.insert() does. In this case nothing stays inserted.
   */
  constructor(rails: readonly Rail[], addresses: readonly (Uint8Array | undefined)[]) {
    this.#rails = rails;
    this.#count = addresses.length;
    try {
      for (const rail of working(rails)) {
        const peers: (Peer | undefined)[] = [];
        this.#inserted.push(peers);
        if (rail === undefined) continue;
        for (const address of addresses) peers.push(address && rail.endpoint.av.insert(address));
      }
    } catch (error) {
      this.remove().catch(() => {}); // the provider has refused them
      throw error;
    }
  }

  /** The handles of the peer's rails, by local rail. 0 where the local rail does not reach the peer's. */
  get handles(): Uint32Array {
    const handles = new Uint32Array(this.#rails.length * this.#count);
    for (const [i, peers] of this.#inserted.entries()) {
      handles.set(
        peers.map((peer) => peer?.handle ?? 0),
        i * this.#count,
      );
    }
    return handles;
  }

  /** Resolves when no operation to the peer is in flight. Addresses that another engine has too stay inserted. */
  async remove(): Promise<void> {
    const removing = this.#inserted.flatMap((peers, i) =>
      peers.map((peer) => peer && this.#rails[i]?.endpoint.av.remove(peer)),
    );
    await Promise.all(removing);
  }
}
