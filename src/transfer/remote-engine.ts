import { cancellable } from '../base/cancellation.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidArgType, invalidArgValue } from '../base/errors.js';
import { isInstance } from '../base/objects.js';
import type { Timeouts } from '../base/timeouts.js';
import type { Handle } from '../contract/native.js';
import type { Activity } from './activity.js';
import { type EngineAddress, identityText } from './address.js';
import type { Queue } from './admission.js';
import { Channel, Confirmations } from './confirmations.js';
import { peerClosed, peerLost, type TransferError } from './errors.js';
import { Life, type Liveness, type PeerState } from './liveness.js';
import type { Mail, Outboxes } from './mail.js';
import { Mappings } from './mappings.js';
import type { MemoryPart, TransferMemory } from './memory.js';
import type { NativeEvents, OfferListener } from './native-events.js';
import type { PeerHolder } from './peer-at.js';
import { hasEnded, isHere, isStopped, type ProcessIdentity } from './same-host.js';
import { PeerStreams } from './streams/peer-streams.js';
import type { StreamReport } from './streams/run.js';
import type { StreamSource } from './streams/sources.js';
import type { StreamOptions } from './streams/stream-options.js';
import type { Streams } from './streams/streams.js';
import type { TransferReadable } from './streams/transfer-readable.js';
import type { TransferWritable } from './streams/transfer-writable.js';
import { decodeToken, type Grant, grantOf } from './token.js';
import type { Transfer } from './transfer.js';
import type { TransferOptions } from './transfer-options.js';
import { checkNotification } from './transfer-options.js';
import { Transfers } from './transfers.js';

const UNCLONEABLE = uncloneable(
  'a RemoteEngine belongs to its engine: send the address that it was made of, for engine.peer() there',
);

/** What may be used of the address of a stranger. */
export interface Usable {
  /** By rail. */
  readonly usable: readonly boolean[];
  /** Whether its memory may be mapped. */
  readonly maps: boolean;
}

/** The state of an engine that its peers share. */
export interface PeerContext {
  readonly handle: Handle<'TransferEngine'>;
  readonly id: bigint;
  readonly secret: string | Uint8Array;
  readonly events: NativeEvents;
  readonly queue: Queue;
  readonly timeouts: Timeouts<Transfer>;
  /** Whether this engine maps the memory of peers of its host. */
  readonly maps: boolean;
  readonly activity: Activity;
  readonly mail: Mail;
  readonly streams: Streams;
  readonly liveness: Liveness;
  isOpen(): boolean;
  /** Removes the peer, and its addresses when `unused` resolves. engine.peer() may add it again at once. */
  forget(peer: RemoteEngine, unused: Promise<void>): Promise<void>;
}

/** Another engine. engine.peer() makes it from the engine's address. */
export class RemoteEngine {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** The identity of the engine, in hexadecimal digits. */
  readonly id: string;
  /** The number of its rails. */
  readonly rails: number;
  /** @internal */
  readonly handle: Handle<'RemotePeer'>;
  /** @internal */
  readonly identity: bigint;
  /** @internal Who uses the peer: its engine, if the program got the peer by engine.peer(), memberships and servers. */
  readonly holders = new Set<PeerHolder>();
  readonly #context: PeerContext;
  readonly #mappings: Mappings | undefined;
  readonly #transfers: Transfers;
  readonly #streams: PeerStreams;
  readonly #confirmations: Confirmations;
  readonly #process: ProcessIdentity | undefined;
  /** @internal */
  readonly life = new Life();
  #state: PeerState = 'connected';
  #reason = '';
  #hasLeft = false;
  #outboxes: Outboxes | undefined;
  #uses = 0;
  #unused = () => {};
  #closing: Promise<void> | undefined;
  #gone: string | undefined;

  /** @internal */
  readonly address: EngineAddress;
  /** @internal What may be used of the address, if a stranger has sent it. */
  readonly stranger: Usable | undefined;

  /** @internal */
  constructor(
    context: PeerContext,
    address: EngineAddress,
    handle: Handle<'RemotePeer'>,
    stranger: Usable | undefined,
  ) {
    this.#context = context;
    this.address = address;
    this.stranger = stranger;
    this.identity = address.id;
    this.id = identityText(address.id);
    this.rails = address.rails.length;
    this.handle = handle;
    const mayTell = () => context.isOpen() && !this.#hasLeft;
    this.#confirmations = new Confirmations(context.handle, handle, mayTell);
    const { process, maps } = address;
    this.#process = process;
    const isMappable = context.maps && maps && process !== undefined && isHere(process);
    this.#mappings = isMappable ? new Mappings(context.handle, process, address.id) : undefined;
    this.#transfers = new Transfers(this, context, this.#mappings);
    this.#streams = new PeerStreams(this, context, this.#transfers);
  }

  /**
   * Whether the peer runs on this host, so that its memory from allocate() can be mapped. A transfer is
   * then one copy, without a NIC.
   */
  get maps(): boolean {
    return this.#mappings !== undefined;
  }

  /**
   * `'connected'`: the peer answers, or nothing has shown otherwise. `'silent'`: something is open with the peer, and
   * nothing has come from it for half of the engine's `liveness`. `'lost'`: nothing has come from it for 0.8
   * of that time, no rail reaches it, or its engine was closed. When a peer becomes lost, everything that is open with it
   * ends with FI_ECONNRESET. It is connected again when it answers, unless its engine was closed.
   */
  get state(): PeerState {
    return this.#state;
  }

  /** @internal The reason why the peer is lost. Undefined if it is not. */
  get lostReason(): string | undefined {
    return this.#state === 'lost' ? this.#reason : undefined;
  }

  /** @internal Returns false if the peer has this state already, or keeps another one because its engine was closed. */
  changed(state: PeerState, reason: string): boolean {
    if (this.#hasLeft || this.#state === state) return false;
    this.#state = state;
    this.#reason = reason;
    return true;
  }

  /** @internal Whether the peer's process is one of this host and has ended. */
  get hasEnded(): boolean {
    return this.#process !== undefined && hasEnded(this.#process);
  }

  /**
   * @internal Whether nothing comes from the peer although its process may run. It may then go on later in the middle of
   * a copy.
   */
  get mayBeStopped(): boolean {
    if (this.#hasLeft || this.hasEnded) return false;
    // After the end of its entry, nothing else shows whether it is silent.
    if (this.#gone !== undefined && this.#process && isStopped(this.#process)) return true;
    const { wasSilent, cut } = this.life;
    if (this.isUnreached) return false;
    return this.#state === 'lost' && wasSilent && cut === undefined;
  }

  get #isRunning(): boolean {
    return this.#process !== undefined && isHere(this.#process) && !isStopped(this.#process);
  }

  /** @internal Whether nothing comes from the peer although its process is one of this host and runs. */
  get isMissed(): boolean {
    return this.#state !== 'connected' && !this.#hasLeft && this.#isRunning;
  }

  /** @internal Whether that is because the provider of this side is stuck, so that the peer gets nothing. */
  get isUnreached(): boolean {
    return this.life.isBlocked && this.isMissed;
  }

  /** @internal Whether the peer's engine was closed. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** @internal The peer's engine was closed. Nothing is sent to it any more. */
  left(reason: string): void {
    this.#hasLeft = true;
    this.#state = 'lost';
    this.#reason = reason;
    this.life.wasSilent = false;
    this.life.isForgotten = true;
  }

  /** @internal The error for operations after the peer's engine was closed. */
  absent(): TransferError {
    return peerLost(this.#reason, false);
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** @internal Throws unless `peer` is an open peer of `engine`. */
  static check(name: string, peer: unknown, engine: Handle<'TransferEngine'>): RemoteEngine {
    if (!isInstance(peer, RemoteEngine)) {
      throw invalidArgType(name, 'a peer: engine.peer(address)', peer);
    }
    if (peer.#context.handle !== engine) {
      throw invalidArgValue(
        name,
        'is a peer of another engine: use engine.peer(address) of this one',
      );
    }
    if (peer.closed) throw peer.#closedError();
    return peer;
  }

  /** @internal A connection of the peer's program has ended. If the peer does not answer soon, it is lost. */
  doubt(): void {
    if (this.#context.isOpen()) this.#context.liveness.doubt(this);
  }

  /** @internal Called when transfers or messages start (> 0) or stop (< 0) using the peer. */
  used(change: number): void {
    this.#uses += change;
    this.opened(change);
    if (this.#uses === 0) this.#unused();
  }

  /** @internal Called when something is opened with the peer (> 0) or has ended (< 0). */
  opened(change: number): void {
    const { life } = this;
    life.open += change;
    if (change > 0 && !life.isWatched) this.#context.liveness.watch(this);
  }

  /** @internal Ends an offer to this peer if the peer is gone, or was closed. */
  endIfGone(offer: OfferListener): void {
    const reason = this.#hasLeft ? this.#reason : this.#gone;
    if (reason !== undefined) offer.lost(this, reason);
    else if (this.closed) offer.peerClosed(this);
  }

  /**
   * Forgets the peer. New transfers and messages are refused. Open offers to it end with FI_ECANCELED. Streams under way fail
   * with ERR_CLOSED, and those of the peer
   * with FI_ECONNABORTED; those whose token was not used expire, or end when the peer uses it, which is refused. When the
   * transfers and messages in flight have ended, the peer's addresses are removed and the promise resolves. Messages that
   * the peer has not taken 1,000 ms later reject with FI_ECANCELED; transfers have their own timeouts. Meanwhile,
   * engine.peer() may open the peer again.
   */
  close(): Promise<void> {
    return this.#closeFor(undefined);
  }

  /**
   * @internal Forgets the peer after its last holder.
   *
   * @param gone why the peer is lost, if the program has not asked to forget it.
   */
  async release(holder: PeerHolder, gone?: string): Promise<void> {
    if (this.holders.delete(holder) && this.holders.size === 0) await this.#closeFor(gone);
  }

  #closeFor(gone: string | undefined): Promise<void> {
    if (this.#closing !== undefined) return this.#closing;
    const { streams, events, isOpen } = this.#context;
    this.#gone = gone;
    if (isOpen()) streams.left(this, () => this.#closedError(true));
    if (isOpen() && gone !== undefined) streams.lost(this, () => peerLost(gone, true));
    this.#closing = cancellable(() => this.#close());
    for (const offer of events.offers.values()) this.endIfGone(offer);
    return this.#closing;
  }

  #closedError(ambiguous = false): Error {
    return this.#gone === undefined ? closed('the peer') : peerLost(this.#gone, ambiguous);
  }

  /** @internal The error of what still waits for the closed peer. */
  abandoned(detail: string, ambiguous = true): TransferError {
    return this.#gone === undefined
      ? peerClosed(detail, ambiguous)
      : peerLost(this.#gone, ambiguous);
  }

  #close(): Promise<void> {
    const unused = new Promise<void>((resolve) => {
      this.#unused = resolve;
      this.used(0);
    });
    return this.#context.forget(this, unused);
  }

  /** @internal Unmaps the peer's memory. */
  unmap(): void {
    this.#mappings?.close();
  }

  /** Forgets the peer: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal */
  checkOpen(): void {
    if (!this.#context.isOpen()) throw closed('the transfer engine');
    if (this.closed) throw this.#closedError();
  }

  /**
   * Decodes a token once, for several calls.
   *
   * @throws TypeError ERR_INVALID_ARG_VALUE if the token is malformed, is not from this peer, or is
   * for another engine.
   */
  grant(token: string): Grant {
    const { secret, id } = this.#context;
    return grantOf(decodeToken(token, secret), this.identity, id);
  }

  /**
   * Writes local memory, or a part of it, into the memory that the peer has offered.
   *
   * @throws TypeError, RangeError for invalid arguments. TransferError FI_EKEYREJECTED if the token
   * has expired. Error ERR_CLOSED if the engine or the memory is closed.
   */
  write(
    from: TransferMemory | MemoryPart,
    token: string | Grant,
    options: TransferOptions = {},
  ): Transfer {
    return this.#transfers.begin(this.#transfers.check('write', 'from', from, token, options));
  }

  /** @internal Checks a write. Returns a function that begins it. */
  prepareWrite(from: TransferMemory | MemoryPart, token: string | Grant, options: TransferOptions) {
    const checked = this.#transfers.check('write', 'from', from, token, options);
    return () => this.#transfers.begin(checked);
  }

  /** Reads the memory that the peer has offered into local memory, or into a part of it. */
  read(
    token: string | Grant,
    into: TransferMemory | MemoryPart,
    options: TransferOptions = {},
  ): Transfer {
    return this.#transfers.begin(this.#transfers.check('read', 'into', into, token, options));
  }

  /**
   * Makes a stream of Node.js whose bytes go to the memory that the peer has offered for one write, or to its
   * engine.incoming(). They go through a pool of memory, so there may be any number of them.
   *
   * @throws as write() does. The stream fails with a RangeError if the offered memory has fewer bytes.
   */
  writable(token: string | Grant, options: StreamOptions = {}): TransferWritable {
    return this.#streams.writable(token, options);
  }

  /**
   * Sends the bytes of a stream, an iterable or a file, as writable() does. Resolves when all of them have arrived.
   *
   * @throws as writable() does; the error of the source.
   */
  upload(
    source: StreamSource,
    token: string | Grant,
    options: StreamOptions = {},
  ): Promise<StreamReport> {
    return cancellable(() => this.#streams.upload(source, token, options));
  }

  /**
   * Makes a stream of Node.js with the bytes of the memory that the peer has offered for one read, or of its
   * engine.outgoing(). They go through a pool of memory: while the program does not read, no more are transferred.
   *
   * @throws as read() does.
   */
  download(token: string | Grant, options: StreamOptions = {}): TransferReadable {
    return this.#streams.readable(token, options);
  }

  /**
   * Sends a message of at most 3072 bytes. It arrives once, at engine.notifications() of the peer. The promise
   * resolves when the peer has taken the message: the message is in the queue of engine.notifications(), or was
   * read. While 4096 messages of this engine wait to be read, the peer takes no more. A peer that has not called
   * engine.peer() for this engine cannot confirm messages. Then the promise resolves when the message is in the
   * peer's memory, that of the first message 250 ms later.
   *
   * @throws TransferError FI_ETIMEDOUT if the peer takes no message for 30 seconds, FI_ECONNRESET if the
   * peer is lost first.
   */
  notify(bytes: Uint8Array): Promise<void> {
    try {
      const sent = this.send(bytes, Channel.Program);
      this.#context.activity.notificationsSent += 1;
      return sent;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** @internal */
  send(bytes: Uint8Array, channel: Channel): Promise<void> {
    this.checkOpen();
    const message = checkNotification('bytes', bytes);
    if (this.#hasLeft) return Promise.reject(this.absent());
    this.#outboxes ??= this.#context.mail.to(this.identity);
    return this.#outboxes[channel].send(this, message);
  }

  /** @internal Passes on the messages of a channel now, not at the end of this turn of the event loop. */
  sendNow(channel: Channel): void {
    this.#outboxes?.[channel].flush();
  }

  /** @internal Tells the peer that a packet of its messages was taken. */
  take(channel: Channel, sequence: number): void {
    this.#confirmations.add(channel, sequence);
  }

  /** @internal Tells the peer at once which of its messages were taken. */
  tellTaken(): void {
    if (!this.#hasLeft) this.#confirmations.flush();
  }

  /** @internal Tells the peer that none of its messages will be taken any more. */
  takeNoMore(): void {
    if (!this.#hasLeft) this.#confirmations.end();
  }
}
