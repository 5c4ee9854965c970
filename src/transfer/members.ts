import { countAsHandled } from '../base/cancellation.js';
import { type DirectoryEntry, isName } from '../base/directory.js';
import type { EngineParts } from './engine-parts.js';
import { MembershipEvents } from './membership-events.js';
import { type PeerHolder, peerAt } from './peer-at.js';
import type { RemoteEngine } from './remote-engine.js';

const ENDED = 'its entry is no longer in the directory';

/** The engines of a group: those that the directory has, and of these, those that a rail reaches. */
export class Members {
  readonly events: MembershipEvents;
  /** The engines that are reached, by id. */
  readonly reached = new Map<string, RemoteEngine>();
  readonly #parts: EngineParts;
  readonly #name: string;
  readonly #own: string;
  readonly #listed = new Map<string, RemoteEngine>();
  readonly #holder: PeerHolder = {};
  // The addresses that are ignored, by id.
  readonly #ignored = new Map<string, unknown>();

  constructor(parts: EngineParts, name: string, own: string) {
    this.#parts = parts;
    this.#name = name;
    this.#own = own;
    this.events = new MembershipEvents(parts.events.waiting);
  }

  /** The directory has these entries. */
  update(entries: readonly DirectoryEntry[]): void {
    const found = new Map(entries.map((entry) => [entry.id, entry.address]));
    for (const id of this.#ignored.keys()) if (!found.has(id)) this.#ignored.delete(id);
    for (const [id, peer] of this.#listed) {
      if (found.has(id)) continue;
      this.#listed.delete(id);
      this.#show(peer, ENDED);
      countAsHandled(this.#release(peer, ENDED));
    }
    for (const [id, address] of found) {
      if (id !== this.#own && !this.#listed.has(id)) this.#admit(id, address);
    }
  }

  #admit(id: string, address: string): void {
    const wasIgnored = this.#ignored.has(id);
    if (wasIgnored && this.#ignored.get(id) === address) return;
    try {
      peerAt(this.#parts, address, id, (peer) => {
        this.#ignored.delete(id);
        peer.holders.add(this.#holder);
        this.#listed.set(id, peer);
        this.#show(peer, '');
      });
    } catch (error) {
      this.#ignored.set(id, address);
      if (wasIgnored) return; // one warning for an entry, whatever it says next
      const entry = isName(id) ? id : JSON.stringify(String(id).slice(0, 64));
      process.emitWarning(
        `the entry ${entry} of ${this.#name} is ignored: ${(error as Error).message}`,
        'LibfabricWarning',
      );
    }
  }

  /** The state of a peer of the engine has changed. */
  changed(peer: RemoteEngine, reason: string): void {
    if (this.#listed.get(peer.id) === peer) this.#show(peer, reason);
  }

  #show(peer: RemoteEngine, reason: string): void {
    const isReached = this.#listed.has(peer.id) && peer.state !== 'lost';
    if (isReached === this.reached.has(peer.id)) return;
    if (isReached) {
      this.reached.set(peer.id, peer);
      this.events.emit({ type: 'joined', peer });
    } else {
      this.reached.delete(peer.id);
      this.events.emit({ type: 'lost', peer, reason });
    }
  }

  /** Forgets a peer, unless the program or another membership uses it. */
  async #release(peer: RemoteEngine, gone?: string): Promise<void> {
    if (this.#parts.isOpen) await peer.release(this.#holder, gone);
  }

  /** Forgets all peers. */
  async close(): Promise<void> {
    this.events.close();
    const peers = [...this.#listed.values()];
    this.#listed.clear();
    this.reached.clear();
    await Promise.allSettled(peers.map((peer) => this.#release(peer)));
  }
}
