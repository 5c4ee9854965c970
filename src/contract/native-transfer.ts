// The part of the contract that libfabric/transfer uses.
import type { Handle } from './handles.js';
import type { NativeAllocation } from './native-memory.js';

/** Receives the events of a transfer engine: native/transfer/events.h lists them. */
export type TransferEvents = (
  kind: number,
  id: number,
  status: number,
  text: string | Uint8Array | undefined,
  from: bigint | undefined,
  bytes: number,
) => void;

export interface NativeRailCounters {
  bytesTransferred: number;
  slices: number;
  failures: number;
  stalls: number;
  retries: number;
  messages: number;
  arrivals: number;
  /** The messages and slices that the provider has completed. */
  sent: number;
  /** An index into RAIL_STATES. */
  state: number;
}

/** An open offer. */
export interface NativeOffer {
  readonly handle: Handle<'Offer'>;
  readonly id: number;
  /** The number of its first slice. */
  readonly first: number;
  /** Its position among all offers of the engine. */
  readonly serial: number;
  /** The position of the offer before it to the same peer. */
  readonly before: number;
  /** Whether no copy can arrive once the keys of its memory are closed. */
  readonly fences: boolean;
}

/** The memory of an offer. */
export interface NativeOfferedMemory {
  /** The handle of the registration on each rail. 0: it is not registered there. */
  readonly memories: Uint32Array;
  /** The number of slices that a write has if it is cut as the token implies. */
  readonly expected: number;
  /** The number of slices that a write may have if it is cut otherwise. */
  readonly planned: number;
  /** Whether the peer may repeat the transfer. */
  readonly repeats: boolean;
  /** Whether processes of this host can map the memory. */
  readonly mappable: boolean;
}

/** The members of a grant that the native side reads: src/transfer/token.ts. */
export interface NativeGrant {
  readonly offer: number;
  readonly serial: number;
  readonly before: number;
  readonly first: number;
  readonly expected: number;
  readonly planned: number;
  /** Bytes of a slice. */
  readonly slice: number;
  /** Bytes. */
  readonly length: number;
  /** Bytes from the first granted byte to the end of the last one. */
  readonly span: number;
  readonly repeats: boolean;
  /** Pairs of offset and length. */
  readonly pieces: Float64Array;
  /** Address, key and 1 for each rail of the owner. Zeros if the rail has none. */
  readonly targets: BigUint64Array;
}

/** A transfer to start. */
export interface NativeOrder {
  readonly peer: Handle<'RemotePeer'>;
  readonly isWrite: boolean;
  /** An index into PRIORITIES. */
  readonly priority: number;
  /** The handle of this side's memory on each rail. 0: it is not registered there. */
  readonly memories: Uint32Array;
  /** Pairs of offset and length in this side's memory. */
  readonly pieces: Float64Array;
  /** The NUMA node of this side's memory. -1: unknown. */
  readonly numaNode: number;
  readonly grant: NativeGrant;
  readonly notification: Uint8Array | undefined;
  /** The peer's memory, if this process has mapped it: then the CPU copies. */
  readonly mapping: Handle<'Mapping'> | undefined;
  /** The offset of the granted memory in the mapping. */
  readonly mappingOffset: number;
  /** For a transfer of a series: what it uses of the grant. The slices of the transfers before it count. */
  readonly part: { readonly pieces: Float64Array; readonly slices: number } | undefined;
}

/** The end of a series of transfers that have used the parts of one grant. */
export interface NativeSeries {
  readonly peer: Handle<'RemotePeer'>;
  readonly isWrite: boolean;
  readonly grant: NativeGrant;
  /** Whether the peer's memory was mapped. */
  readonly mapped: boolean;
  /** The slices and the bytes of all transfers. */
  readonly slices: number;
  readonly bytes: number;
  /** Why bytes are missing. 0: none is missing. */
  readonly status: number;
}

/** A transfer that has started. */
export interface NativeStarted {
  readonly handle: Handle<'Transfer'>;
  readonly id: number;
}

/** native/js/transfer*.cc */
export interface NativeTransfer {
  transferEngine(
    identity: bigint,
    settings: { window: number; depth: number; stall: number },
    deliver: TransferEvents,
  ): Handle<'TransferEngine'>;
  /** Gives the engine an endpoint: from then on, the engine receives its messages and remote CQ data. */
  transferRail(
    engine: Handle<'TransferEngine'>,
    domain: Handle<'Domain'>,
    endpoint: Handle<'Endpoint'>,
    numaNode: number,
  ): void;
  /** Posts the first receives. Call it after the last rail was added. */
  transferBegin(engine: Handle<'TransferEngine'>): void;
  transferRef(engine: Handle<'TransferEngine'>, on: boolean): void;
  /** Ends all transfers. The event kFlushed follows when all messages are sent. */
  transferClose(engine: Handle<'TransferEngine'>): void;
  /** Blocks after transferClose(), until the peers know of it. Returns whether they do. */
  transferAwaitClosed(engine: Handle<'TransferEngine'>, milliseconds: number): boolean;
  /** Stops the events. */
  transferSilence(engine: Handle<'TransferEngine'>): void;
  transferRails(engine: Handle<'TransferEngine'>): NativeRailCounters[];
  /** `handles` are those of the peer's `rails` rails in the address vector of each rail of this side. */
  transferPeer(
    engine: Handle<'TransferEngine'>,
    identity: bigint,
    handles: Uint32Array,
    rails: number,
    fences: boolean,
  ): Handle<'RemotePeer'>;
  // int fi_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags): FI_REMOTE_CQ_DATA
  // int fi_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
  /** Undefined if the offer has ended. */
  transferStart(engine: Handle<'TransferEngine'>, order: NativeOrder): NativeStarted | undefined;
  // int get_mempolicy(int *mode, unsigned long *nodemask, unsigned long maxnode, void *addr, unsigned long flags)
  /** Returns -1 if the NUMA node is unknown or the memory is on several nodes. Its pages must exist. */
  transferNumaNode(bytes: Uint8Array): number;
  /** Announces the end of a series to the owner of the memory. No transfer of the series may be in flight. */
  transferConclude(engine: Handle<'TransferEngine'>, series: NativeSeries): void;
  /** Starts a transfer again. Returns its new id, 0 if it cannot start again, or -1 if the offer has ended. */
  transferRepeat(engine: Handle<'TransferEngine'>, transfer: Handle<'Transfer'>): number;
  transferCancel(transfer: Handle<'Transfer'>, status: number, text: string): void;
  /** The bytes that have arrived. */
  transferProgress(transfer: Handle<'Transfer'>): number;
  /** The bytes at the beginning of a transfer that have arrived. The event kTransferMoved follows after the next slice. */
  transferLeading(transfer: Handle<'Transfer'>): number;
  /**
   * Sets the seconds, the number of slices, and the microseconds of a slice (median and 99th percentile), and then
   * for each rail its bytes, slices, repeats, retries and failures.
   */
  transferReport(transfer: Handle<'Transfer'>, into: Float64Array): void;
  // int memfd_create(const char *name, unsigned int flags)
  /** Allocates memory that other processes can map. Undefined if the system refuses. */
  transferAllocate(
    engine: Handle<'TransferEngine'>,
    allocation: NativeAllocation,
  ): { buffer: ArrayBufferLike; fd: number; inode: bigint; hugePages: boolean } | undefined;
  // void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
  /** Maps such memory. Undefined if the descriptor is of something else. */
  transferMap(
    engine: Handle<'TransferEngine'>,
    fd: number,
    writable: boolean,
  ): Handle<'Mapping'> | undefined;
  transferUnmap(mapping: Handle<'Mapping'>): void;
  /**
   * Ends an offer for the processes that map its file: they begin no further copy. Returns false while one of them
   * copies.
   */
  transferEndCopies(offer: Handle<'Offer'>, fd: number): boolean;
  /** The number of slices of at most `size` bytes that a write to these pieces has. */
  transferSlices(engine: Handle<'TransferEngine'>, pieces: Float64Array, size: number): number;
  transferOffer(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    memory: NativeOfferedMemory,
  ): NativeOffer;
  /** Ends an offer once the peer has no copy in flight. */
  transferRevoke(engine: Handle<'TransferEngine'>, offer: Handle<'Offer'>): void;
  /** Ends an offer at once. */
  transferWithdraw(engine: Handle<'TransferEngine'>, offer: Handle<'Offer'>): void;
  /** Sends a message. The event kNotificationSent has this id. */
  transferNotify(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    bytes: Uint8Array,
    id: number,
    channel: number,
    sequence: number,
  ): void;
  /** Tells the peer that the messages with these `numbers` were taken. Each number has 32 bits. */
  transferTake(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    numbers: Uint8Array,
    channel: number,
    status: number,
  ): void;
  /** Asks a peer for a sign of life. Its native side answers. */
  transferProbe(engine: Handle<'TransferEngine'>, peer: Handle<'RemotePeer'>): void;
  /** Returns whether something has come from a peer since the last call. */
  transferHeard(peer: Handle<'RemotePeer'>): boolean;
  /** Whether memory is being registered on a rail. Its thread reads nothing meanwhile. */
  transferRegisters(engine: Handle<'TransferEngine'>): boolean;
  /** The event kPeerHeard follows when something comes from a peer. */
  transferMiss(engine: Handle<'TransferEngine'>, peer: Handle<'RemotePeer'>): void;
  /**
   * Ends the transfers with a peer and the messages to it with FI_ECONNRESET. `ended`: whether its process has ended, so
   * that the memory of the transfers is free.
   */
  transferLose(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    ended: boolean,
    text: string,
  ): void;
  /** Returns whether a message was sent to a peer. */
  transferMet(peer: Handle<'RemotePeer'>): boolean;
  /** The event kNotificationSent with this id follows when all messages to the peer are sent or dropped. */
  transferFlush(engine: Handle<'TransferEngine'>, peer: Handle<'RemotePeer'>, id: number): void;
  /** Drops the messages to the peer that are not sent yet. */
  transferForget(engine: Handle<'TransferEngine'>, peer: Handle<'RemotePeer'>): void;
}
