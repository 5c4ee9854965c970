// The contract with native/: every function that the addon exports, in the order of libfabric's headers, with
// the C calls that it makes above it. All functions throw FabricError or an error of misuse.
//
// Not here:
// - fi_send(3), fi_tsend(3), fi_write(3), fi_read(3), fi_atomic(3) and their variants, fi_cq_read(3),
//   fi_cq_readerr(3), fi_cancel(3) and fi_av_remove(3): the engine makes these calls for what JavaScript writes
//   into its rings (engine/layout.ts, native/engine/dispatch.cc).
// - fi_close(3) of endpoints and regions, which must wait for operations in flight: operations of the same rings.
// - fi_passive_ep, fi_listen, fi_connect, fi_accept: connected endpoints (FI_EP_MSG), which EFA does not have.
// - fi_scalable_ep, fi_stx_context, fi_srx_context, and the collectives of fi_collective(3): the efa provider
//   refuses all of them (1.17 to 2.6).
// - fi_poll(3), fi_wait(3): deprecated; the drivers wait by fi_trywait(3) and file descriptors.
// - fi_trigger(3): the efa provider has no triggered operations.
// - fi_mr_bind(3), fi_mr_refresh(3), fi_mr_enable(3): for FI_MR_ENDPOINT, FI_MR_RMA_EVENT and FI_MR_MMU_NOTIFY,
//   which the package does not ask for.

import type { FabricError, makeFabricError } from '../base/errors.js';
import type { EfaAddr, EfaCqAttr, EfaMrAttr, EfaQpWqs } from './efa-types.js';
import type { EngineState } from './engine-state.js';
import type { Param } from './info-types.js';

declare const handleOf: unique symbol;

/** A native object, opaque; the addon checks its type tag. */
export type Handle<Name extends string> = { readonly [handleOf]: Name };

export type NativeInfo = Handle<'Info'>;

/** All that the addon exports. */
export interface NativeAddon
  extends NativeDiscovery,
    NativeNames,
    NativeObjects,
    NativeMemory,
    NativeSlots,
    NativeBatches,
    NativeEfa,
    NativeTransfer {
  initialize(make: typeof makeFabricError): void;
  /** As it is: its functions are called too often to go through anything. They throw nothing. */
  readonly engine: NativeEngine;
}

/** native/info.cc */
export interface NativeDiscovery {
  // uint32_t fi_version(void)
  version(): { number: number; header: number; api: number; string: string };
  libraryPath(): string | null;
  // const char *fi_strerror(int errnum)
  strerror(errno: number): string;
  /** null: fi_getinfo without hints. */
  // int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
  //                const struct fi_info *hints, struct fi_info **info)
  getinfo(hints?: unknown): [data: object, handle: NativeInfo][];
  query(hints: unknown): [data: object, handle: NativeInfo][];
  // char *fi_tostr_r(char *buf, size_t len, const void *data, enum fi_type datatype): FI_TYPE_INFO
  infoToString(info: NativeInfo): string;
  // int fi_getparams(struct fi_param **params, int *count)
  getparams(): Param[];
}

/** native/flags.cc */
export interface NativeNames {
  nameTables(): {
    readonly flags: Readonly<Record<string, Readonly<Record<string, bigint>>>>;
    readonly enums: Readonly<Record<string, Readonly<Record<string, bigint>>>>;
  };
  namesFromBits(table: string, bits: bigint): readonly string[];
  bitsFromNames(table: string, names: readonly string[]): bigint;
  nearestNames(wrong: string, names: readonly string[]): string;
}

/** The rings of a domain's engine: native/domain.cc. */
export interface NativeDomain {
  readonly handle: Handle<'Domain'>;
  /** For the functions of NativeEngine. */
  readonly number: number;
  readonly control: ArrayBuffer;
  readonly submissions: ArrayBuffer;
  readonly completions: ArrayBuffer;
}

/** What a domain's engine is told all the time; nothing, where it has ended: native/engine_calls.cc. */
export interface NativeEngine {
  /** One turn of the engine. */
  turn(domain: number): void;
  /** Turns until control.waitCount completions are there or the time is over. */
  wait(domain: number): void;
  /** Submits the batch of control.runBatch and turns until it has ended or the time is over. */
  run(domain: number): void;
  /** The batch of run() goes on as request control.waitCount. */
  adopt(domain: number): void;
  /** There are submissions and the engine sleeps. */
  wake(domain: number): void;
  /** Keeps the event loop alive until control.pending is 0, unless control.unref is 1. */
  ref(domain: number): void;
  /** Lets the engine's thread make room in the ring. */
  yield(domain: number): void;
}

/** The rest of a fi_cq_err_entry: native/engine/failures.cc. */
export interface NativeFailedCompletion {
  readonly flags: bigint;
  readonly len: number;
  readonly olen: number;
  readonly data: bigint;
  readonly tag: bigint;
  readonly errData?: Uint8Array;
}

export interface NativeOption {
  readonly level: number;
  readonly name: number;
  readonly value: Uint8Array;
}

/** native/{fabric,domain,address_vector,address_insertion,completion_queue,counter,endpoint*}.cc */
export interface NativeObjects {
  // int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
  fabricOpen(info: NativeInfo): Handle<'Fabric'>;
  // int fi_close(struct fid *fid)
  fabricClose(fabric: Handle<'Fabric'>): void;

  // int fi_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context)
  domainOpen(
    fabric: Handle<'Fabric'>,
    info: NativeInfo,
    options: {
      driver: string;
      affinity: readonly number[];
      threadOf: Handle<'Domain'> | undefined;
      spin: number;
      idle: number;
    },
    drain: () => void,
  ): NativeDomain;
  /** Whether a call of the provider may not take so long. */
  domainOverdue(domain: Handle<'Domain'>, milliseconds: number): boolean;
  /** Has the driver stop. Milliseconds to wait for that: 0 when it has, less when it is overdue. */
  domainStop(domain: Handle<'Domain'>): number;
  // int fi_close(struct fid *fid): of everything in the domain, then of the domain
  /** Endpoints that could not be closed, and the errno of the domain's fi_close, or 0. */
  domainClose(domain: Handle<'Domain'>): { endpoints: number; refused: number };
  /** native/domain_state.cc */
  parkedDomains(): {
    provider: string;
    domain: string;
    endpoints: number;
    refused: number;
  }[];
  domainState(
    domain: Handle<'Domain'>,
    operations: number,
    patience: number,
  ): EngineState | undefined;
  takeError(
    domain: Handle<'Domain'>,
    key: number,
  ): {
    syscall: string;
    text: string;
    provErrno: number;
    /** Within its batch. */
    index?: number;
    /** Handle in the engine's table. */
    peer?: number;
    /** No operation that names this peer has succeeded. */
    silent?: boolean;
    provider: string;
    broken: boolean;
    /** What fi_cq_readerr(3) told, where it was asked. */
    completion?: NativeFailedCompletion;
  };

  // int fi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context)
  avOpen(
    domain: Handle<'Domain'>,
    options: { type: string; count: number },
  ): Handle<'AddressVector'>;
  // int fi_av_insert(struct fid_av *av, const void *addr, size_t count, fi_addr_t *fi_addr,
  //                  uint64_t flags, void *context): one address
  avInsert(av: Handle<'AddressVector'>, address: Uint8Array): number;
  // The same, off the event loop: one call for each address, so that each failure has its index.
  avInsertMany(
    av: Handle<'AddressVector'>,
    addresses: Uint8Array,
    ends: Uint32Array,
  ): Promise<{ peers: Uint32Array; error?: FabricError }>;
  // int fi_av_insertsvc(struct fid_av *av, const char *node, const char *service, fi_addr_t *fi_addr,
  //                     uint64_t flags, void *context): off the event loop
  avInsertService(av: Handle<'AddressVector'>, node: string, service: string): Promise<number>;
  // int fi_av_lookup(struct fid_av *av, fi_addr_t fi_addr, void *addr, size_t *addrlen)
  avLookup(av: Handle<'AddressVector'>, peer: number): Uint8Array;
  // const char *fi_av_straddr(struct fid_av *av, const void *addr, char *buf, size_t *len)
  avStraddr(av: Handle<'AddressVector'>, address: Uint8Array): string;
  // int fi_close(struct fid *fid)
  avClose(av: Handle<'AddressVector'>): void;

  // int fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
  cqOpen(
    domain: Handle<'Domain'>,
    options: { size: number; format: string | undefined; wait: boolean },
  ): {
    handle: Handle<'CompletionQueue'>;
    queue: number;
    size: number;
    tagged: boolean;
    waitable: boolean;
  };
  // Without calls of libfabric: remote CQ data that the engine has counted, or counts from now on.
  cqExpect(
    cq: Handle<'CompletionQueue'>,
    value: number | bigint,
    count: number,
    request: number,
  ): void;
  cqStream(cq: Handle<'CompletionQueue'>, limit: number): void;
  cqCount(cq: Handle<'CompletionQueue'>, values: BigUint64Array): void;
  cqForget(cq: Handle<'CompletionQueue'>): { counted: number; lost: number };
  // int fi_close(struct fid *fid)
  cqClose(cq: Handle<'CompletionQueue'>): void;

  // int fi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
  //                  void *context)
  counterOpen(domain: Handle<'Domain'>, bytes: boolean): Handle<'Counter'>;
  // uint64_t fi_cntr_read(struct fid_cntr *cntr)
  counterRead(counter: Handle<'Counter'>): bigint;
  // uint64_t fi_cntr_readerr(struct fid_cntr *cntr)
  counterReadErr(counter: Handle<'Counter'>): bigint;
  // int fi_cntr_add(struct fid_cntr *cntr, uint64_t value)
  counterAdd(counter: Handle<'Counter'>, value: number | bigint): void;
  // int fi_cntr_set(struct fid_cntr *cntr, uint64_t value)
  counterSet(counter: Handle<'Counter'>, value: number | bigint): void;
  // fi_cntr_wait(3), as a request of the engine, which calls fi_cntr_read(3)
  counterWait(counter: Handle<'Counter'>, threshold: number | bigint, request: number): void;
  // int fi_close(struct fid *fid)
  counterClose(counter: Handle<'Counter'>): void;

  // int fi_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
  // int fi_ep_bind(struct fid_ep *ep, struct fid *bfid, uint64_t flags): queues, counters, address vector
  // int fi_enable(struct fid_ep *ep)
  // int fi_getname(fid_t fid, void *addr, size_t *addrlen)
  endpointOpen(
    domain: Handle<'Domain'>,
    info: NativeInfo,
    options: {
      av: Handle<'AddressVector'>;
      sendQueue: Handle<'CompletionQueue'>;
      receiveQueue: Handle<'CompletionQueue'>;
      counters: readonly { counter: Handle<'Counter'>; flags: readonly string[] }[];
      options: readonly NativeOption[];
      staging: boolean;
    },
  ): {
    handle: Handle<'Endpoint'>;
    endpoint: number;
    address: Uint8Array;
    remoteData: number;
    receiveSegments: number;
    ownFlags: bigint;
  };
  // int fi_getopt(struct fid *fid, int level, int optname, void *optval, size_t *optlen)
  endpointGetOption(ep: Handle<'Endpoint'>, level: number, name: number, size: number): Uint8Array;
  // int fi_setopt(struct fid *fid, int level, int optname, const void *optval, size_t optlen)
  endpointSetOption(ep: Handle<'Endpoint'>, options: readonly NativeOption[]): void;
  // int fi_atomicvalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
  // and fi_fetch_atomicvalid, fi_compare_atomicvalid, for 2 and 3 operands
  endpointAtomicQuery(
    ep: Handle<'Endpoint'>,
    operands: 1 | 2 | 3,
    datatype: string,
    op: string,
  ): { count: number; size: number; datatype: number; op: number };
}

/** native/device_memory.cc */
export type NativeDeviceMemory<Descriptor = number | Handle<'DmabufHold'>> =
  | {
      readonly fd: Descriptor;
      readonly offset: number;
      readonly length: number;
    }
  | {
      readonly iface: string;
      readonly pointer: bigint;
      readonly device: number;
      readonly length: number;
    };

export interface NativeRegion {
  readonly memory: number;
  readonly key: bigint;
  readonly address: bigint;
}

/** native/memory_region.cc */
export interface NativeMemory {
  // int fi_mr_reg(struct fid_domain *domain, const void *buf, size_t len, uint64_t access, uint64_t offset,
  //               uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
  // uint64_t fi_mr_key(struct fid_mr *mr)
  memoryRegister(
    domain: Handle<'Domain'>,
    bytes: Uint8Array,
    access: readonly string[],
  ): Promise<NativeRegion>;
  // int fi_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **mr)
  memoryRegisterDevice(
    domain: Handle<'Domain'>,
    memory: NativeDeviceMemory,
    access: readonly string[],
  ): Promise<NativeRegion>;
  // fcntl(2): F_DUPFD_CLOEXEC, and close(2)
  dmabufHold(memory: { readonly fd: number }): Handle<'DmabufHold'>;
  dmabufRelease(hold: Handle<'DmabufHold'>): void;
  // mmap(2), and the same. `numaNode`: of mbind(2), -1 for any.
  memoryAllocate(
    domain: Handle<'Domain'>,
    length: number,
    access: readonly string[],
    hugePages: boolean,
    shared: boolean,
    numaNode: number,
  ): Promise<NativeRegion & { buffer: ArrayBufferLike; hugePages: boolean }>;
  // Without calls of libfabric: the tables of the engine.
  memoryAdopt(domain: Handle<'Domain'>, bytes: Uint8Array): number;
  memoryForget(domain: Handle<'Domain'>, memory: number): void;
  memoryRead(domain: Handle<'Domain'>, memory: number, offset: number, length: number): ArrayBuffer;
  memoryBuffer(domain: Handle<'Domain'>, memory: number): ArrayBuffer;
  // native/remote_region.cc
  remoteAdd(domain: Handle<'Domain'>, address: bigint, key: bigint, length: bigint): number;
  remoteForget(domain: Handle<'Domain'>, remote: number): void;
}

/** native/slots.cc */
export interface NativeSlots {
  slotsCreate(
    domain: Handle<'Domain'>,
    count: number,
    size: number,
  ): { handles: Uint32Array; buffers: ArrayBuffer[] };
  slotsForget(domain: Handle<'Domain'>, handles: Uint32Array): void;
}

/** native/efa.cc */
export interface NativeEfa {
  // int fi_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context), and of
  // struct fi_efa_ops_domain and its successors: query_mr, query_addr, query_qp_wqs, query_cq; fi_efa(7)
  efaQueryMr(domain: Handle<'Domain'>, memory: number): EfaMrAttr;
  efaGetMrLkey(domain: Handle<'Domain'>, memory: number): bigint;
  efaQueryAddr(domain: Handle<'Domain'>, ep: Handle<'Endpoint'>, peer: number): EfaAddr;
  efaQueryQpWqs(domain: Handle<'Domain'>, ep: Handle<'Endpoint'>): EfaQpWqs;
  efaQueryCq(domain: Handle<'Domain'>, cq: Handle<'CompletionQueue'>): EfaCqAttr;
  efaQueryFeature(domain: Handle<'Domain'>, feature: string): boolean;
}

/** A byte of registered memory: handle, offset and value. */
export type NativeByte = readonly [memory: number, offset: number, value: number];

/** What the rounds of a batch set and wait for. */
export interface NativeRoundEvents {
  readonly marks: readonly NativeByte[];
  readonly bytes: readonly NativeByte[];
  readonly thresholds: readonly (readonly [
    counter: Handle<'Counter'>,
    value: bigint | number,
    step: bigint | number,
  ])[];
  readonly immediates: number;
}

/** native/batch.cc */
export interface NativeBatches {
  batchCreate(domain: Handle<'Domain'>, entries: number): { batch: number; buffer: ArrayBuffer };
  batchDestroy(domain: Handle<'Domain'>, batch: number): void;
  batchSamples(domain: Handle<'Domain'>, batch: number, count: number): ArrayBuffer;
  batchEvents(domain: Handle<'Domain'>, batch: number, events: NativeRoundEvents): void;
  layout(): Readonly<Record<string, number>>;
}

/** What the native side tells of a transfer engine: native/transfer/events.h. */
export type TransferEvents = (
  kind: number,
  id: number,
  status: number,
  text: string | Uint8Array | undefined,
  from: bigint | undefined,
  bytes: number,
) => void;

export interface NativeRailCounters {
  bytes: number;
  slices: number;
  failures: number;
  stalls: number;
  retries: number;
  messages: number;
  arrivals: number;
  /** A place in RAIL_STATES. */
  state: number;
}

/** native/transfer/exports.cc */
/** An offer that was opened. */
export interface NativeOffer {
  readonly handle: Handle<'Offer'>;
  readonly id: number;
  readonly first: number;
  readonly serial: number;
  readonly before: number;
  /** Whether no copy can arrive after its keys were closed. */
  readonly fences: boolean;
}

export interface NativeTransfer {
  transferEngine(
    identity: bigint,
    settings: { window: number; depth: number; stall: number },
    deliver: TransferEvents,
  ): Handle<'TransferEngine'>;
  /** The endpoint's messages and remote writes with data belong to the engine from now on. */
  transferRail(
    engine: Handle<'TransferEngine'>,
    domain: Handle<'Domain'>,
    endpoint: Handle<'Endpoint'>,
    numaNode: number,
  ): void;
  /** After the last rail was added. */
  transferBegin(engine: Handle<'TransferEngine'>): void;
  transferRef(engine: Handle<'TransferEngine'>, on: boolean): void;
  /** Ends all transfers, and tells when all messages are sent. */
  transferClose(engine: Handle<'TransferEngine'>): void;
  /** Ends the events. */
  transferSilence(engine: Handle<'TransferEngine'>): void;
  transferRails(engine: Handle<'TransferEngine'>): NativeRailCounters[];
  /** `handles`: the peer's rails in the address vector of each rail of this side. */
  transferPeer(
    engine: Handle<'TransferEngine'>,
    identity: bigint,
    handles: Uint32Array,
    rails: number,
    fences: boolean,
  ): Handle<'RemotePeer'>;
  // int fi_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags): FI_REMOTE_CQ_DATA
  // int fi_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
  /**
   * `numbers`: direction, priority, bytes of a slice, bytes of the remote memory, the peer's offer, its
   * first number, its expected slices, its planned slices, its bytes, a place for the id, whether the offer can
   * be used again, the offset of the remote memory in `mapping`, the NUMA node of the memory or -1, and the serial
   * numbers of the offer and of the one before it. Undefined if the offer has ended.
   */
  transferStart(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    memories: Uint32Array,
    pieces: Float64Array,
    targets: BigUint64Array,
    remotePieces: Float64Array,
    note: Uint8Array | undefined,
    numbers: Float64Array,
    mapping: Handle<'Mapping'> | undefined,
  ): Handle<'Transfer'> | undefined;
  // int get_mempolicy(int *mode, unsigned long *nodemask, unsigned long maxnode, void *addr, unsigned long flags)
  /** -1 if the NUMA node is unknown, or the memory is on several. Its pages must be there. */
  transferNumaNode(bytes: Uint8Array): number;
  /** 0 if the transfer cannot start again, -1 if the offer has ended. */
  transferAgain(engine: Handle<'TransferEngine'>, transfer: Handle<'Transfer'>): number;
  transferCancel(transfer: Handle<'Transfer'>, status: number, text: string): void;
  transferProgress(transfer: Handle<'Transfer'>): number;
  /**
   * Sets seconds, slices, and the microseconds of slices: median and 99th percentile. Then for each rail bytes,
   * slices, repeats, retries and failures.
   */
  transferReport(transfer: Handle<'Transfer'>, into: Float64Array): void;
  /** Memory that other processes can map: memfd_create(2). Undefined if the system refuses. */
  transferAllocate(
    engine: Handle<'TransferEngine'>,
    length: number,
    hugePages: boolean,
    shared: boolean,
    numaNode: number,
  ): { buffer: ArrayBufferLike; fd: number; inode: bigint; hugePages: boolean } | undefined;
  /** mmap(2) of such memory, undefined if it is something else. */
  transferMap(
    engine: Handle<'TransferEngine'>,
    fd: number,
    writable: boolean,
  ): Handle<'Mapping'> | undefined;
  transferUnmap(mapping: Handle<'Mapping'>): void;
  /**
   * Ends an offer for the processes that map its file: no copy begins any more. Returns false while
   * one of them copies.
   */
  transferEndCopies(offer: Handle<'Offer'>, fd: number): boolean;
  /** The number of slices of at most `size` bytes into which a write to these pieces is cut. */
  transferSlices(engine: Handle<'TransferEngine'>, pieces: Float64Array, size: number): number;
  transferOffer(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    expected: number,
    planned: number,
    memories: Uint32Array,
    repeats: boolean,
    mappable: boolean,
  ): NativeOffer;
  /** Ends an offer, as soon as the peer has no copy under way. */
  transferRevoke(engine: Handle<'TransferEngine'>, offer: Handle<'Offer'>): void;
  /** Ends it at once. */
  transferWithdraw(engine: Handle<'TransferEngine'>, offer: Handle<'Offer'>): void;
  transferNotify(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    bytes: Uint8Array,
    id: number,
    channel: number,
    sequence: number,
  ): void;
  /** Tells the peer that messages with these `numbers`, of 32 bits each, were taken. */
  transferTake(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    numbers: Uint8Array,
    channel: number,
    status: number,
  ): void;
  /** The event NoteSent with this id tells when all messages to the peer are sent, or given up. */
  transferFlush(engine: Handle<'TransferEngine'>, peer: Handle<'RemotePeer'>, id: number): void;
  /** Messages to the peer that still wait are given up. */
  transferForget(engine: Handle<'TransferEngine'>, peer: Handle<'RemotePeer'>): void;
}
