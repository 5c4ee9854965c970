import { createHash } from 'node:crypto';
import { cancellable } from '../base/cancellation.js';
import { checkObject } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isArray, isInstance } from '../base/objects.js';
import { checkWait, type WaitOptions, within } from '../base/wait-options.js';
import type { Handle } from '../contract/native.js';
import type { Barriers } from './barriers.js';
import { Channel } from './confirmations.js';
import type { MemoryPart, TransferMemory } from './memory.js';
import { RemoteEngine } from './remote-engine.js';
import type { TransferReport } from './report.js';
import type { Grant } from './token.js';
import type { TransferOptions } from './transfer-options.js';
import { checkNotification } from './transfer-options.js';

const UNCLONEABLE = uncloneable('a Group belongs to its engine: send the addresses of its engines');

/** The memory that scatter() writes to one peer of a group. */
export interface GroupPart {
  readonly from: TransferMemory | MemoryPart;
  /** The peer's token. */
  readonly token: string | Grant;
}

/** A group of engines that work together. engine.group() makes it. */
export class Group {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly peers: readonly RemoteEngine[];
  readonly #barriers: Barriers;
  readonly #name: Uint8Array;

  /** @internal */
  constructor(
    engine: Handle<'TransferEngine'>,
    self: bigint,
    peers: readonly RemoteEngine[],
    barriers: Barriers,
  ) {
    if (!isArray(peers) || !peers.every((peer) => isInstance(peer, RemoteEngine))) {
      throw invalidArgType('peers', 'an array of peers: engine.peer(address)', peers);
    }
    for (const [i, peer] of peers.entries()) RemoteEngine.check(`peers[${i}]`, peer, engine);
    const members = [self, ...peers.map(({ identity }) => identity)];
    if (peers.some(({ identity }) => identity === self)) {
      throw invalidArgValue('peers', 'has this engine, which is a member of each of its groups');
    }
    if (new Set(members).size < members.length) {
      throw invalidArgValue('peers', 'has a peer twice');
    }
    this.peers = [...peers];
    this.#barriers = barriers;
    const sorted = members.map(String).sort().join();
    this.#name = createHash('sha256').update(sorted).digest().subarray(0, 16);
  }

  /**
   * Writes one part to every peer. The parts are in the order of `peers`. Resolves when all parts have arrived.
   *
   * @throws TypeError, RangeError, Error ERR_CLOSED as peer.write() does. Then nothing was written.
   * @throws the error of the first transfer that fails. The other transfers continue.
   */
  scatter(parts: readonly GroupPart[], options: TransferOptions = {}): Promise<TransferReport[]> {
    return cancellable(async () => {
      if (!isArray(parts) || parts.length !== this.peers.length) {
        throw invalidArgValue(
          'parts',
          `must have ${this.peers.length} elements, one for each peer`,
        );
      }
      const writes = this.peers.map((peer, i) => {
        const { from, token } = checkObject<GroupPart>(`parts[${i}]`, parts[i]);
        return peer.prepareWrite(from as TransferMemory, token as string, options);
      });
      return Promise.all(writes.map((begin) => begin()));
    });
  }

  /**
   * Sends a message to every peer. The peers read it with engine.notifications().
   *
   * @throws TypeError, RangeError, Error ERR_CLOSED as peer.notify() does. Then nothing was sent.
   */
  notify(bytes: Uint8Array): Promise<void> {
    return cancellable(async () => {
      const message = checkNotification('bytes', bytes);
      this.#checkOpen();
      await Promise.all(this.peers.map((peer) => peer.notify(message)));
    });
  }

  /**
   * Resolves when every member has called barrier() as often as this one. All members must have a
   * group of the same engines. A call that has failed does not count: a member that calls barrier() again meets the others, also
   * those that wait in their first call.
   *
   * @throws FabricError FI_ETIMEDOUT after `options.timeout`; AbortError, or the signal's reason;
   * TransferError if a peer takes no message or is lost, or if this engine closes meanwhile. Error
   * ERR_CLOSED if the engine or a peer is already closed.
   */
  barrier(options: WaitOptions = {}): Promise<void> {
    return cancellable(async () => {
      const wait = { ...checkWait(options), unref: true }; // the engine keeps the event loop alive
      this.#checkOpen();
      const barrier = this.#barriers.next(
        this.#name,
        this.peers.map(({ identity }) => identity),
        (message, to) => {
          const peers = this.peers.filter(({ state }) => to === 'all' || state === 'connected');
          return Promise.all(peers.map(async (peer) => peer.send(message, Channel.Group)));
        },
      );
      for (const peer of this.peers) peer.opened(1);
      let hasPassed = false;
      try {
        await within(barrier.passed, wait, 'barrier');
        hasPassed = true;
      } finally {
        barrier.end(hasPassed);
        for (const peer of this.peers) peer.opened(-1);
      }
    });
  }

  // All peers are checked first, so that a call that fails has not sent to some of them.
  #checkOpen(): void {
    for (const peer of this.peers) peer.checkOpen();
  }
}
