import { randomBytes } from 'node:crypto';
import type { Reader } from '../base/arrivals.js';
import { cancellable } from '../base/cancellation.js';
import { publishClose, publishOpen } from '../base/channels.js';
import { uncloneable } from '../base/describe.js';
import { closed, FabricError, invalidArgValue, invalidState } from '../base/errors.js';
import { type Handle, native } from '../contract/native.js';
import type {
  RailState,
  TransferEngineState,
  TransferStats,
} from '../diagnostics/transfer-state.js';
import { transferEngines } from '../diagnostics/transfer-state.js';
import type { DeviceMemory } from '../memory/device-memory.js';
import { Activity } from './activity.js';
import { decodeAddress, encodeAddress, identityText } from './address.js';
import { Queue } from './admission.js';
import { Announcer } from './announcer.js';
import { Barriers } from './barriers.js';
import { Counted } from './counted.js';
import type { EngineEvent } from './engine-events.js';
import { stateOf } from './engine-state.js';
import { errnoOf } from './errors.js';
import { Group } from './group.js';
import { Inbox } from './inbox.js';
import { Mail } from './mail.js';
import { TransferMemory } from './memory.js';
import { NativeEvents } from './native-events.js';
import { type Notification, Notifications } from './notifications.js';
import { makeOffer, type Offering } from './offering.js';
import { OpenOffers } from './open-offers.js';
import { Taken } from './outbox.js';
import { FLUSH_TIMEOUT, Peers } from './peers.js';
import { countersOf, openRails, type Rail } from './rails.js';
import {
  type AllocateMemoryOptions,
  allocateMemory,
  type RegisteredMemory,
  type RegisterMemoryOptions,
  registerMemory,
} from './registration.js';
import { RemoteEngine } from './remote-engine.js';
import { thisProcess } from './same-host.js';
import { type Settings, settingsOf, type TransferEngineOptions } from './settings.js';

const UNCLONEABLE = uncloneable(
  'a TransferEngine belongs to its thread: send engine.address, for engine.peer(), and open another engine there',
);

const CLOSE_MESSAGE_TIMEOUT = 250; // ms
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
  readonly #identity: bigint;
  readonly #settings: Settings;
  readonly #rails: readonly Rail[];
  readonly #handle: Handle<'TransferEngine'>;
  readonly #events: NativeEvents;
  readonly #queue: Queue;
  readonly #notifications: Notifications;
  readonly #inbox: Inbox;
  readonly #mail: Mail;
  readonly #barriers: Barriers;
  readonly #peers = new Map<bigint, RemoteEngine>();
  readonly #meeting: Peers;
  readonly #memories = new Set<TransferMemory>();
  readonly #maps: boolean;
  readonly #offering: Offering;
  readonly #activity: Activity;
  readonly #announcer = new Announcer(this);
  readonly #flushes = new Counted();
  #closing: Promise<void> | undefined;

  private constructor(settings: Settings, rails: readonly Rail[]) {
    if (rails === undefined) throw invalidState('new TransferEngine(): use TransferEngine.open()');
    this.#identity = randomBytes(8).readBigUInt64LE();
    this.id = identityText(this.#identity);
    this.#settings = settings;
    this.#rails = rails;
    this.#queue = new Queue(settings.maxTransfers);
    this.#events = new NativeEvents({
      notification: (from, sequence, bytes, channel) =>
        this.#inbox.arrived(from, sequence, bytes, channel),
      taken: (from, status, numbers, channel) => {
        if (status === Taken.Closed) this.#left(from);
        else this.#mail.taken(from, status, numbers, channel);
      },
      idle: (idle) => native.transferRef(this.#handle, !idle),
      flushed: () => this.#flushes.add(),
      peer: (identity, lost, reason) => {
        const peer = this.#peers.get(identity);
        peer?.changed(lost ? reason : undefined);
        if (peer !== undefined) this.#announcer.peerChanged(peer, reason);
      },
      rail: (index, state, reason, peer) => {
        const rail = this.#rails[index] as Rail;
        this.#announcer.railChanged(index, rail, state, reason, this.#peers.get(peer));
      },
    });
    this.#notifications = new Notifications(this.#events.waiting);
    this.#barriers = new Barriers(this.#events.waiting);
    this.#inbox = new Inbox(this.#peers, this.#notifications, this.#barriers);
    this.#activity = new Activity(this, this.#queue, this.#events, this.#notifications);
    this.#handle = native.transferEngine(this.#identity, settings.native, this.#events.deliver);
    this.#mail = new Mail(this.#handle, this.#events);
    for (const [index, { handle, endpoint, numaNode }] of rails.entries()) {
      native.transferRail(this.#handle, handle, endpoint.handle, numaNode ?? -1);
      endpoint.cq.onError = (error) => this.#announcer.railFailed(index, error);
    }
    native.transferBegin(this.#handle);
    this.#offering = {
      handle: this.#handle,
      identity: this.#identity,
      settings,
      rails,
      events: this.#events,
      activity: this.#activity,
    };
    const [first] = rails as readonly [Rail];
    const rdma = this.rails.every(({ path }) => path === 'rdma');
    const provider = first.info.fabricAttr.provName ?? '';
    this.#maps = settings.mapMemory ?? !(settings.require === 'rdma' || /efa/.test(provider));
    this.#meeting = new Peers(this.#peers, {
      context: {
        handle: this.#handle,
        id: this.#identity,
        secret: settings.secret,
        events: this.#events,
        queue: this.#queue,
        activity: this.#activity,
        mail: this.#mail,
        isOpen: () => !this.closed,
      },
      rails,
      inbox: this.#inbox,
      maps: this.#maps,
      rdma,
    });
    this.address = encodeAddress(
      {
        id: this.#identity,
        provider,
        rdma,
        rails: rails.map(({ endpoint }) => endpoint.address),
        process: this.#maps ? thisProcess() : undefined,
      },
      settings.secret,
    );
    transferEngines.add(this);
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
    const engine = await closingRails(rails, () => new TransferEngine(settings, rails));
    const slow = settings.require === 'rdma' && engine.rails.find(({ path }) => path !== 'rdma');
    if (slow) {
      await engine.close();
      throw new FabricError(errnoOf('FI_ENODATA'), 'transfer', {
        detail: `the rail ${slow.nic} of ${slow.provider} is ${slow.path}, not rdma`,
      });
    }
    publishOpen('transferEngine', engine);
    const [provider = ''] = engine.rails[0]?.provider.split(';') ?? []; // 'tcp;ofi_rxm'
    if (options.provider === undefined && provider !== 'efa') engine.#announcer.fellBack(provider);
    return engine;
  }

  /**
   * The events of the engine from this call on: changes of the states of rails and peers, and errors of the
   * provider that belong to no transfer. Each iterator gets all events. If the engine has fallen back to a
   * provider other than efa, the first event reports it. Waiting for events does not keep the process alive.
   */
  events(): Reader<EngineEvent> {
    return this.#announcer.events.read();
  }

  /** @internal */
  get provider(): string {
    return (this.#rails[0] as Rail).info.fabricAttr.provName ?? '';
  }

  /** The activity of the engine since it was opened. */
  stats(): TransferStats {
    return this.#activity.stats();
  }

  /** @internal For dumpState(). */
  state(): TransferEngineState {
    return stateOf(this, this.#peers.values(), this.#memories, this.#events);
  }

  /** The rails and their states. */
  get rails(): readonly RailState[] {
    const counters = countersOf(this.#handle);
    return this.#rails.map((rail, index) => rail.state(index, counters[index] as never));
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Returns the peer with this address.
   *
   * @throws TypeError ERR_INVALID_ARG_VALUE if the address is malformed, was sealed with another
   * secret, or belongs to an engine with another provider.
   */
  async peer(address: string): Promise<RemoteEngine> {
    this.#checkOpen();
    const decoded = decodeAddress(address, this.#settings.secret);
    const own = this.#rails[0]?.info.fabricAttr.provName;
    if (decoded.provider !== own) {
      throw invalidArgValue(
        'address',
        `is of an engine over ${decoded.provider}, and this one uses ${own}`,
      );
    }
    return this.#meeting.meet(decoded);
  }

  #left(identity: bigint): void {
    const peer = this.#peers.get(identity);
    if (peer === undefined) return;
    const reason = 'its engine was closed';
    peer.left(reason);
    this.#mail.left(identity);
    this.#barriers.left(identity, () => peer.absent());
    this.#announcer.peerChanged(peer, reason);
  }

  /**
   * Registers memory on the rails, in parallel and off the event loop. Takes bytes, or memory of a device
   * as a dmabuf. If the engine was opened with `hmem`, also takes memory of a device by its pointer.
   *
   * @throws FabricError with the code of fi_mr_reg(3), such as FI_ENOMEM. For memory of a device, the errors
   * of domain.register(). TypeError for memory that is empty, or for a NIC that the engine does not have.
   */
  register(
    bytes: ArrayBufferView | ArrayBufferLike | DeviceMemory,
    options: RegisterMemoryOptions = {},
  ): Promise<TransferMemory> {
    return cancellable(async () => {
      this.#checkOpen();
      return this.#memoryOf(await registerMemory(this.#rails, bytes, options));
    });
  }

  /**
   * Allocates page-aligned memory and registers it on the rails. With `mapMemory`, peers of this host
   * map it.
   *
   * @throws FabricError FI_ENOMEM, or the code of fi_mr_reg(3); FI_ENODEV for a NUMA node that does
   * not exist. TypeError, RangeError for invalid options, and for more than
   * `buffer.constants.MAX_LENGTH` bytes: 4 GiB with Node.js 20.
   */
  allocate(length: number, options: AllocateMemoryOptions = {}): Promise<TransferMemory> {
    return cancellable(async () => {
      this.#checkOpen();
      const engine = this.#maps ? this.#handle : undefined;
      return this.#memoryOf(await allocateMemory(this.#rails, length, options, engine));
    });
  }

  #memoryOf(registered: RegisteredMemory): TransferMemory {
    const offers = new OpenOffers();
    const memory = new TransferMemory(
      {
        engine: this.#handle,
        offer: async (part, options) => {
          this.#checkOpen();
          if (part.memory.closed) throw closed('the memory');
          return offers.add(makeOffer(this.#offering, part, options));
        },
        forget: async (closing) => {
          this.#memories.delete(closing);
          registered.device?.release();
          if (this.closed) return;
          const closings = registered.regions.map((region) => region?.close());
          await Promise.all([offers.end('its memory was closed'), ...closings]);
        },
      },
      registered,
    );
    this.#memories.add(memory);
    return memory;
  }

  /**
   * The messages that peers send with notify(). With several iterators, each message goes to one of them.
   * A message that no iterator has asked for waits for the next iterator that asks, also after another
   * iterator has ended. close() ends all iterators.
   */
  notifications(): Reader<Notification> {
    return this.#notifications.read();
  }

  /**
   * Makes a group of peers that work together. This engine is one more member.
   *
   * @throws TypeError ERR_INVALID_ARG_TYPE if an element is not a peer, ERR_INVALID_ARG_VALUE if it is a
   * peer of another engine. Error ERR_CLOSED.
   */
  group(peers: readonly RemoteEngine[]): Group {
    this.#checkOpen();
    const group = new Group(this.#identity, peers, this.#barriers);
    for (const [i, peer] of peers.entries()) RemoteEngine.check(`peers[${i}]`, peer, this.#handle);
    return group;
  }

  /**
   * Lets the process exit although the engine has work, as `socket.unref()` of node:net does. The work
   * continues while something else keeps the process alive.
   *
   * An engine keeps the event loop alive while it has transfers, open offers or messages to send, and
   * while calls of notifications() and barriers wait. close() ends all of them, also after unref().
   */
  unref(): this {
    if (!this.closed) this.#events.keepLoop(false);
    return this;
  }

  /** Lets the engine keep the event loop alive again, after unref(). */
  ref(): this {
    this.#events.keepLoop(true);
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
    this.#events.isClosing = true;
    this.#announcer.events.close();
    this.#notifications.close();
    this.#barriers.close();
    this.#mail.stop();
    for (const peer of this.#peers.values()) peer.tellTaken();
    await this.#flush();
    const closings = this.#rails.map(({ endpoint }) => endpoint.close());
    await Promise.allSettled(closings);
    native.transferSilence(this.#handle);
    this.#events.endAll(errnoOf('FI_ECANCELED'), 'the transfer engine was closed');
    this.#mail.close();
    for (const memory of this.#memories) memory.device?.release();
    for (const peer of this.#peers.values()) peer.unmap();
    publishClose('transferEngine', this);
  }

  // First the engine tells its peers how their transfers have ended, and waits until copies in flight have
  // arrived: libfabric's tcp (1.17) crashes if an endpoint is closed in the middle of a write. Then the engine
  // tells its peers that it closes. They send nothing more, because it would not answer. A peer that is gone
  // does not delay this.
  async #flush(): Promise<void> {
    native.transferClose(this.#handle);
    if (!(await this.#flushes.reaches(1, FLUSH_TIMEOUT))) return;
    await this.#flushes.reaches(2, CLOSE_MESSAGE_TIMEOUT);
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
