import type { Reader } from '../base/arrivals.js';
import { asCancellation, cancellable } from '../base/cancellation.js';
import { publishClose, publishOpen } from '../base/channels.js';
import { uncloneable } from '../base/describe.js';
import type { Directory } from '../base/directory.js';
import { closed, FabricError, invalidState } from '../base/errors.js';
import type {
  MemoryPoolState,
  RailState,
  TransferEngineState,
  TransferStats,
} from '../diagnostics/transfer-state.js';
import { transferEngines } from '../diagnostics/transfer-state.js';
import type { DeviceMemory } from '../memory/device-memory.js';
import { identityText } from './address.js';
import { closeAtExit, closeParts } from './engine-closing.js';
import type { EngineEvent } from './engine-events.js';
import { type EngineParts, openParts } from './engine-parts.js';
import { stateOf } from './engine-state.js';
import { errnoOf } from './errors.js';
import { Group } from './group.js';
import { endMemberships, type JoinOptions, join, type Membership } from './membership.js';
import { TransferMemory } from './memory.js';
import { checkPoolOptions, MemoryPool, type MemoryPoolOptions } from './memory-pool.js';
import type { Notification } from './notifications.js';
import { makeOffer } from './offering.js';
import { OpenOffers } from './open-offers.js';
import { type PeerHolder, peerAt, peerFrom, type Sender } from './peer-at.js';
import { checkPeerOptions, type PeerOptions } from './peer-options.js';
import { openRails, type Rail, statesOf } from './rails.js';
import {
  type AllocateMemoryOptions,
  allocateMemory,
  checkAllocateOptions,
  type RegisteredMemory,
  type RegisterMemoryOptions,
  registerMemory,
} from './registration.js';
import type { RemoteEngine } from './remote-engine.js';
import { settingsOf, type TransferEngineOptions } from './settings.js';
import {
  type IncomingStream,
  incoming,
  type OutgoingStream,
  outgoing,
} from './streams/own-streams.js';
import type { IncomingOptions, OutgoingOptions } from './streams/stream-options.js';

const UNCLONEABLE = uncloneable(
  'a TransferEngine belongs to its thread: send engine.address, for engine.peer(), and open another engine there',
);

let lastNumber = 0;

/**
 * Moves memory between machines over all NICs. Each byte arrives once, even if a NIC fails.
 *
 * @example
 * ```ts
 * await using engine = await TransferEngine.open();
 * const remote = await engine.peer(address);
 * const model = await engine.register(weights);
 * const report = await remote.write(model, token);
 * ```
 */
export class TransferEngine {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** The identity of this engine, in hexadecimal digits. */
  readonly id: string;
  /** The text that peers need for engine.peer(). It has no secrets, and is valid while the engine is open. */
  readonly address: string;
  /** @internal Counts the engines of this thread, from 1. */
  readonly number = ++lastNumber;
  readonly #parts: EngineParts;
  /** Holds the peers that the program got by peer(). */
  readonly #holder: PeerHolder = {};
  #poolsMade = 0;
  #closing: Promise<void> | undefined;

  private constructor(parts: EngineParts) {
    if (parts === undefined) throw invalidState('new TransferEngine(): use TransferEngine.open()');
    this.#parts = parts;
    this.id = identityText(parts.identity);
    this.address = parts.address;
    parts.owner.engine = this;
    transferEngines.add(this);
    closeAtExit(parts);
  }

  /**
   * Opens a rail on each NIC.
   *
   * @throws FabricError FI_ENODATA if there is no NIC, or if `require` refuses one. FabricError with the
   * code of the libfabric call that failed. TypeError, RangeError for invalid options.
   */
  static async open(options: TransferEngineOptions = {}): Promise<TransferEngine> {
    const settings = settingsOf(options);
    const rails = await openRails(settings.rails);
    const parts = await closingRails(rails, () => openParts(settings, rails));
    const engine = new TransferEngine(parts);
    const slow = settings.require === 'rdma' && engine.rails.find(({ path }) => path !== 'rdma');
    if (slow) {
      await engine.close();
      throw new FabricError(errnoOf('FI_ENODATA'), 'transfer', {
        detail: `the rail ${slow.nic} of ${slow.provider} is ${slow.path}, not rdma`,
      });
    }
    publishOpen('transferEngine', engine);
    const [provider = ''] = engine.provider.split(';'); // 'tcp;ofi_rxm'
    if (options.provider === undefined && provider !== 'efa') parts.announcer.fellBack(provider);
    return engine;
  }

  /**
   * The events of the engine from this call on: changes of the states of rails and peers, and errors of the
   * provider that belong to no transfer. Each iterator gets all events. If the engine has fallen back to a
   * provider other than efa, the first event reports it. Waiting for events does not keep the process alive.
   */
  events(): Reader<EngineEvent> {
    return this.#parts.announcer.events.read();
  }

  /** @internal */
  get provider(): string {
    return this.#parts.provider;
  }

  /** The activity of the engine since it was opened. */
  stats(): TransferStats {
    return this.#parts.activity.stats();
  }

  /** @internal */
  get pools(): MemoryPoolState[] {
    return Array.from(this.#parts.pools, (pool) => pool.state());
  }

  /** @internal For dumpState(). */
  state(): TransferEngineState {
    const { peers, memories, events } = this.#parts;
    return stateOf(this, peers.values(), memories, events);
  }

  /** The rails and their states. */
  get rails(): readonly RailState[] {
    return statesOf(this.#parts.handle, this.#parts.rails);
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return !this.#parts.isOpen;
  }

  /**
   * Returns the peer with this address.
   *
   * @throws TypeError ERR_INVALID_ARG_VALUE if the address is malformed, was sealed with another
   * secret, belongs to an engine with another provider, or is a second one of a peer, with other rails. FabricError
   * FI_EACCES if it came over a connection and was not admitted, FI_EADDRNOTAVAIL if the provider has no room for another
   * peer: shm has room for 256 engines over the life of one.
   */
  async peer(address: string, options: PeerOptions = {}): Promise<RemoteEngine> {
    const { from, admit } = checkPeerOptions(options);
    return this.hold(this.#holder, address, from && { connection: from, admit });
  }

  /** @internal The peer with an address. The holder keeps it until peer.release(). */
  async hold(holder: PeerHolder, address: string, sender?: Sender): Promise<RemoteEngine> {
    this.#checkOpen();
    if (sender !== undefined) return peerFrom(this.#parts, address, sender, holder);
    const peer = peerAt(this.#parts, address);
    peer.holders.add(holder);
    return peer;
  }

  /**
   * Registers memory on the rails, in parallel and off the event loop. Takes bytes, or memory of a device
   * as a dmabuf. If the engine was opened with `hmem`, also takes memory of a device by its pointer.
   *
   * @throws FabricError with the code of fi_mr_reg(3), such as FI_ENOMEM. For memory of a device, the errors
   * of domain.register(). TypeError for memory that is empty, or for a NIC that the engine does not have. Error ERR_CLOSED if
   * the engine is closed, before the call or during it.
   */
  register(
    bytes: ArrayBufferView | ArrayBufferLike | DeviceMemory,
    options: RegisterMemoryOptions = {},
  ): Promise<TransferMemory> {
    return this.#registered(() => registerMemory(this.#parts.rails, bytes, options));
  }

  /**
   * Allocates page-aligned memory and registers it on the rails. With `mapMemory`, peers of this host
   * map it.
   *
   * @throws FabricError FI_ENOMEM, or the code of fi_mr_reg(3); FI_ENODEV for a NUMA node that does
   * not exist. TypeError, RangeError for invalid options, and for more than
   * `buffer.constants.MAX_LENGTH` bytes: 4 GiB with Node.js 20. Error ERR_CLOSED if the engine is closed, before the call or
   * during it.
   */
  allocate(length: number, options: AllocateMemoryOptions = {}): Promise<TransferMemory> {
    const { rails, maps, handle } = this.#parts;
    return this.#registered(() =>
      allocateMemory(rails, length, options, maps ? handle : undefined),
    );
  }

  /**
   * Makes a pool of registered memory, for many uses in turn. The engine closes it.
   *
   * @throws TypeError, RangeError for invalid options. Error ERR_CLOSED.
   */
  pool(options: MemoryPoolOptions): MemoryPool {
    this.#checkOpen();
    const { size, count, name, allocation } = checkPoolOptions(options);
    checkAllocateOptions(this.#parts.rails, allocation);
    this.#poolsMade += 1;
    const { pools } = this.#parts;
    const pool = new MemoryPool(name ?? String(this.#poolsMade), size, count, {
      allocate: () => this.allocate(size, allocation),
      forget: (ended) => pools.delete(ended),
    });
    pools.add(pool);
    return pool;
  }

  /**
   * Makes a stream of Node.js with the bytes that a peer uploads. The peer needs its token, for remote.writable() or
   * remote.upload(). The bytes go through a pool of memory, so there may be any number of them.
   *
   * @throws TypeError, RangeError for invalid options. Error ERR_CLOSED. The stream fails with FI_ETIMEDOUT if the token
   * expires, FI_ECONNABORTED if the peer ends the stream, FI_ECONNRESET if its engine closes.
   */
  incoming(options: IncomingOptions): IncomingStream {
    this.#checkOpen();
    return incoming(this.#parts.offering, this.#parts.streams, options);
  }

  /**
   * Makes a stream of Node.js whose bytes a peer downloads. The peer needs its token, for remote.download().
   *
   * @throws as incoming() does.
   */
  outgoing(options: OutgoingOptions): OutgoingStream {
    this.#checkOpen();
    return outgoing(this.#parts.offering, this.#parts.streams, options);
  }

  #registered(register: () => Promise<RegisteredMemory>): Promise<TransferMemory> {
    return cancellable(async () => {
      this.#checkOpen();
      try {
        return this.#memoryOf(await register());
      } catch (error) {
        const isOvertaken = this.closed && Object(error).code === 'ERR_CLOSED';
        throw isOvertaken ? asCancellation(closed('the transfer engine')) : error;
      }
    });
  }

  #memoryOf(registered: RegisteredMemory): TransferMemory {
    const { handle, offering, memories, events, queue } = this.#parts;
    const offers = new OpenOffers();
    const memory = new TransferMemory(
      {
        engine: handle,
        offer: async (part, options) => {
          this.#checkOpen();
          part.checkOpen();
          const opening = offers.add(makeOffer(offering, part, options));
          part.lease?.offered(opening);
          return opening;
        },
        forget: async (closing) => {
          registered.device?.release();
          if (this.closed) return; // the rails deregister it, and it is kept until they are closed
          memories.delete(closing);
          queue.memoryClosed(closing);
          for (const transfer of events.transfers.values()) transfer.memoryClosed(closing);
          const closings = registered.regions.map((region) => region?.close());
          await Promise.all([offers.end('its memory was closed'), ...closings]);
        },
      },
      registered,
    );
    memories.add(memory);
    if (this.closed) throw asCancellation(closed('the transfer engine'));
    return memory;
  }

  /**
   * The messages that peers send with notify(). With several iterators, each message goes to one of them.
   * A message that no iterator has asked for waits for the next iterator that asks, also after another
   * iterator has ended. close() ends all iterators.
   */
  notifications(): Reader<Notification> {
    return this.#parts.notifications.read();
  }

  /**
   * Makes a group of peers that work together. This engine is one more member.
   *
   * @throws TypeError ERR_INVALID_ARG_TYPE if an element is not a peer, ERR_INVALID_ARG_VALUE if it is a
   * peer of another engine. Error ERR_CLOSED.
   */
  group(peers: readonly RemoteEngine[]): Group {
    this.#checkOpen();
    const { handle, identity, barriers } = this.#parts;
    return new Group(handle, identity, peers, barriers);
  }

  /**
   * Joins the engines that have the same name in a directory: publishes this engine's address there, and makes the other
   * engines peers as they come and go. Resolves when the engines that are there are peers. close() leaves.
   *
   * An entry that is no address of an engine with the same provider and secret is ignored, with a warning.
   *
   * @throws The error of the directory. FabricError FI_ETIMEDOUT. TypeError, RangeError for invalid arguments. Error
   * ERR_INVALID_STATE if the engine has joined this name already, ERR_CLOSED.
   */
  join(directory: Directory, name: string, options: JoinOptions = {}): Promise<Membership> {
    return cancellable(async () => {
      this.#checkOpen();
      return join(this.#parts, directory, name, options);
    });
  }

  /**
   * Lets the process exit although the engine has work, as `socket.unref()` of node:net does. The work
   * continues while something else keeps the process alive.
   *
   * An engine keeps the event loop alive while it has transfers, open offers or messages to send, and
   * while calls of notifications() and barriers wait. close() ends all of them, also after unref().
   */
  unref(): this {
    if (!this.closed) this.#parts.events.keepLoop(false);
    return this;
  }

  /** Lets the engine keep the event loop alive again, after unref(). */
  ref(): this {
    this.#parts.events.keepLoop(true);
    return this;
  }

  /** Ends all transfers and offers, and closes the rails. */
  close(): Promise<void> {
    this.ref();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    transferEngines.delete(this);
    const closing = closeParts(this.#parts);
    await Promise.all([closing, endMemberships(this.#parts)]);
    publishClose('transferEngine', this);
  }

  /** Closes the engine: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw closed('the transfer engine');
  }
}

/** Calls `make`. If it throws, closes the rails. */
async function closingRails<T>(rails: readonly Rail[], make: () => T): Promise<T> {
  try {
    return make();
  } catch (error) {
    await Promise.allSettled(rails.map(({ endpoint }) => endpoint.close()));
    throw error;
  }
}
