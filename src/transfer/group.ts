import { createHash } from 'node:crypto';
import { invalidArgType, invalidArgValue } from '../errors.js';
import { checkWait, type WaitOptions, within } from '../wait-options.js';
import type { Part, Place } from './place.js';
import { Channel, engineClosed, RemoteEngine } from './remote-engine.js';
import type { TransferReport } from './report.js';
import type { Grant } from './token.js';
import type { TransferOptions } from './transfer.js';

/** What one peer of a group gets. */
export interface GroupPart {
  readonly from: Place | Part;
  /** The peer's token. */
  readonly token: string | Grant;
}

/** The barriers of an engine: who has arrived at which one. */
export class Barriers {
  // The peers that have arrived, by the barrier's name in hexadecimal digits.
  readonly #arrived = new Map<string, Set<bigint>>();
  readonly #waiting = new Map<string, { check(): void; reject(error: unknown): void }>();

  arrived(from: bigint, name: Uint8Array): void {
    const key = Buffer.from(name).toString('hex');
    const peers = this.#arrived.get(key);
    if (peers === undefined) this.#arrived.set(key, new Set([from]));
    else peers.add(from);
    this.#waiting.get(key)?.check();
  }

  /** Resolves when all members have arrived. */
  wait(name: Uint8Array, members: readonly bigint[]): Promise<void> {
    const key = Buffer.from(name).toString('hex');
    return new Promise((resolve, reject) => {
      const check = () => {
        const here = this.#arrived.get(key);
        if (!members.every((member) => here?.has(member))) return;
        this.#arrived.delete(key);
        this.#waiting.delete(key);
        resolve();
      };
      this.#waiting.set(key, { check, reject });
      check();
    });
  }

  close(): void {
    for (const { reject } of this.#waiting.values()) reject(engineClosed());
    this.#waiting.clear();
  }
}

/** Engines that work together: engine.group(). */
export class Group {
  readonly peers: readonly RemoteEngine[];
  readonly #barriers: Barriers;
  readonly #name: Uint8Array;
  #round = 0;

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
    const name = new Uint8Array(20);
    name.set(this.#name);
    new DataView(name.buffer).setUint32(16, ++this.#round, true);
    const all = this.#barriers.wait(
      name,
      this.peers.map(({ identity }) => identity),
    );
    const sent = this.peers.map((peer) => peer.send(name, Channel.Group));
    await within(
      Promise.all([all, ...sent]).then(() => {}),
      wait,
      'barrier',
    );
  }
}
