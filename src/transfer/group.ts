import { createHash } from 'node:crypto';
import { uncloneable } from '../describe.js';
import { invalidArgType, invalidArgValue } from '../errors.js';
import { checkWait, type WaitOptions, within } from '../wait-options.js';
import type { Barriers } from './barriers.js';
import type { Part, Place } from './place.js';
import { Channel, RemoteEngine } from './remote-engine.js';
import type { TransferReport } from './report.js';
import type { Grant } from './token.js';
import type { TransferOptions } from './transfer.js';

const UNCLONEABLE = uncloneable('a Group belongs to its engine: send the cards of its engines');

/** What one peer of a group gets. */
export interface GroupPart {
  readonly from: Place | Part;
  /** The peer's token. */
  readonly token: string | Grant;
}

/** Engines that work together: engine.group(). */
export class Group {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly peers: readonly RemoteEngine[];
  readonly #barriers: Barriers;
  readonly #name: Uint8Array;

  /** @internal */
  constructor(self: bigint, peers: readonly RemoteEngine[], barriers: Barriers) {
    if (!Array.isArray(peers) || !peers.every((peer) => peer instanceof RemoteEngine)) {
      throw invalidArgType('peers', 'an array of peers: engine.peer(card)', peers);
    }
    const members = [self, ...peers.map(({ identity }) => identity)];
    if (new Set(members).size < members.length) {
      throw invalidArgValue('peers', 'has a peer twice');
    }
    this.peers = [...peers];
    this.#barriers = barriers;
    const sorted = members.map(String).sort().join();
    this.#name = createHash('sha256').update(sorted).digest().subarray(0, 16);
  }

  /**
   * Writes to every peer: the parts are in the order of `peers`. Resolves when all have arrived.
   *
   * @throws what the first transfer that fails rejects with. The others go on.
   */
  async scatter(
    parts: readonly GroupPart[],
    options: TransferOptions = {},
  ): Promise<TransferReport[]> {
    if (!Array.isArray(parts) || parts.length !== this.peers.length) {
      throw invalidArgValue('parts', `must have ${this.peers.length} elements, one for each peer`);
    }
    const transfers = this.peers.map((peer, i) => {
      const { from, token } = parts[i] as GroupPart;
      return peer.write(from, token, options);
    });
    return Promise.all(transfers);
  }

  /** Sends a message to every peer: engine.notes(). */
  async notify(bytes: Uint8Array): Promise<void> {
    await Promise.all(this.peers.map((peer) => peer.notify(bytes)));
  }

  /**
   * Resolves when every member has called barrier() as often as this one. All members must have a
   * group of the same engines.
   *
   * @throws FabricError FI_ETIMEDOUT after `options.timeout`; AbortError, or the signal's reason;
   * TransferError if a peer takes no message or the engine closes.
   */
  async barrier(options: WaitOptions = {}): Promise<void> {
    const wait = checkWait(options);
    const barrier = this.#barriers.next(
      this.#name,
      this.peers.map(({ identity }) => identity),
    );
    const sent = this.peers.map((peer) => peer.send(barrier.name, Channel.Group));
    try {
      await within(Promise.all([barrier.passed, ...sent]), wait, 'barrier');
    } finally {
      barrier.forget();
    }
  }
}
