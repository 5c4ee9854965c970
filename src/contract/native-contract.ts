// The contract with C++: the functions that the addon exports, in the order of libfabric's headers. A comment above a
// function shows the C calls that it makes. native-memory.ts, native-transfer.ts and native-net.ts hold the rest of the
// contract. Every function throws FabricError, or an error for misuse.
//
// These calls have no function here:
// - fi_send(3), fi_tsend(3), fi_write(3), fi_read(3), fi_atomic(3) and their variants, fi_cq_read(3),
//   fi_cq_readerr(3), fi_cancel(3), fi_av_remove(3): JavaScript writes operations into a ring, and the engine makes
//   the calls (layout.ts, native/engine/dispatch.cc).
// - fi_close(3) of endpoints and regions: operations of the same ring, because they wait for operations in flight.
// - fi_passive_ep, fi_listen, fi_connect, fi_accept: they are for connected endpoints (FI_EP_MSG), which EFA does not
//   have.
// - fi_scalable_ep, fi_stx_context, fi_srx_context, and the collectives of fi_collective(3): the efa provider refuses
//   them (1.17 to 2.6).
// - fi_poll(3), fi_wait(3): deprecated. The drivers wait with fi_trywait(3) and file descriptors.
// - fi_trigger(3): the efa provider has no triggered operations.
// - fi_mr_bind(3), fi_mr_refresh(3), fi_mr_enable(3): they are for FI_MR_ENDPOINT, FI_MR_RMA_EVENT and
//   FI_MR_MMU_NOTIFY, which the package does not request.

import type { FabricError, makeFabricError } from '../base/errors.js';
import type { EfaAddr, EfaCqAttr, EfaMrAttr, EfaQpWqs } from './efa-types.js';
import type { EngineState } from './engine-state.js';
import type { Handle, NativeInfo } from './handles.js';
import type { Param } from './info-types.js';
import type { NativeMemory, NativeReceiveBuffers } from './native-memory.js';
import type { NativeNet } from './native-net.js';
import type { NativeStorage } from './native-storage.js';
import type { NativeTransfer } from './native-transfer.js';

/** The exports of the addon. */
export interface NativeAddon
  extends NativeDiscovery,
    NativeNames,
    NativeObjects,
    NativeMemory,
    NativeReceiveBuffers,
    NativeBatches,
    NativeEfa,
    NativeTransfer,
    NativeNet,
    NativeStorage {
  /** Sets the function that makes the errors which the addon throws. */
  initialize(make: typeof makeFabricError): void;
  /** Returns the free pages of malloc(3) to the system, off the event loop: malloc_trim(3), in so many milliseconds. native/js/heap.cc */
  heapTrim(): Promise<number>;
  /** Calls a function in no async context, and returns its result. native.ts does not wrap it. */
  withoutContext<T>(call: () => T): T;
  /** The functions of the hot path. native.ts does not wrap them. They never throw. */
  readonly engine: NativeEngine;
}

/** native/js/info.cc */
export interface NativeDiscovery {
  // uint32_t fi_version(void)
  version(): { number: number; header: number; api: number; string: string };
  libraryPath(): string | null;
  // const char *fi_strerror(int errnum)
  strerror(errno: number): string;
  /** null calls fi_getinfo without hints. */
  // int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
  //                const struct fi_info *hints, struct fi_info **info)
  getinfo(hints?: unknown): [data: object, handle: NativeInfo][];
  query(hints: unknown): [data: object, handle: NativeInfo][];
  // char *fi_tostr_r(char *buf, size_t len, const void *data, enum fi_type datatype): FI_TYPE_INFO
  infoToString(info: NativeInfo): string;
  // int fi_getparams(struct fi_param **params, int *count)
  getparams(): Param[];
}

/** native/js/flags_js.cc */
export interface NativeNames {
  nameTables(): {
    readonly flags: Readonly<Record<string, Readonly<Record<string, bigint>>>>;
    readonly enums: Readonly<Record<string, Readonly<Record<string, bigint>>>>;
  };
  namesFromBits(table: string, bits: bigint): readonly string[];
  bitsFromNames(table: string, names: readonly string[]): bigint;
  nearestNames(wrong: string, names: readonly string[]): string;
}

/** The rings of a domain's engine: native/js/domain.cc. */
export interface NativeDomain {
  readonly handle: Handle<'Domain'>;
  /** For the functions of NativeEngine. */
  readonly number: number;
  readonly control: ArrayBuffer;
  readonly submissions: ArrayBuffer;
  readonly completions: ArrayBuffer;
}

/**
 * Calls to the engine of a domain: native/js/engine_calls.cc. `domain` is `NativeDomain.number`. A call for a closed
 * domain does nothing.
 */
export interface NativeEngine {
  /** Runs one turn of the engine. */
  turn(domain: number): void;
  /** Runs turns until the ring holds control.waitCount completions, or until the timeout. */
  wait(domain: number): void;
  /** Submits the batch of control.runBatch, and runs turns until the batch ends, or until the timeout. */
  run(domain: number): void;
  /** Continues the batch of run() as request control.waitCount. */
  adopt(domain: number): void;
  /** Wakes the engine's thread, which sleeps while the ring holds submissions. */
  wake(domain: number): void;
  /** Keeps the event loop alive until control.pending is 0, unless control.unref is 1. */
  ref(domain: number): void;
  /** Gives up the processor, so that the engine's thread can make room in the ring. */
  yield(domain: number): void;
}

/** The fields of a fi_cq_err_entry that a failed completion adds: native/engine/failures.cc. */
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

/** native/js/{fabric,domain,address_vector,address_insertion*,completion_queue,counter,endpoint*}.cc */
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
      busyPoll: number;
    },
    drain: () => void,
  ): NativeDomain;
  /** Whether a provider call that has taken so long exceeds the engine's limit. */
  domainOverdue(domain: Handle<'Domain'>, milliseconds: number): boolean;
  /** Asks the driver to stop. Returns the milliseconds left: 0 once it has stopped, negative if it is overdue. */
  domainStop(domain: Handle<'Domain'>): number;
  // int fi_close(struct fid *fid): for each object of the domain, then for the domain
  /**
   * Returns the number of endpoints that could not be closed, and the errno with which fi_close(3) refused the
   * domain, or 0.
   */
  domainClose(domain: Handle<'Domain'>): { endpoints: number; refused: number };
  /** native/js/domain_state.cc */
  parkedDomains(): {
    provider: string;
    domain: string;
    endpoints: number;
    refused: number;
  }[];
  /** Undefined if the engine does not release its lock in time. */
  domainState(
    domain: Handle<'Domain'>,
    maxOperations: number,
    milliseconds: number,
  ): EngineState | undefined;
  /** Returns and deletes the failure that the engine stores under a key. */
  takeError(
    domain: Handle<'Domain'>,
    key: number,
  ): {
    syscall: string;
    text: string;
    provErrno: number;
    /** The index of the operation in its batch. */
    index?: number;
    /** The peer's handle in the engine's table. */
    peer?: number;
    /** Whether no operation with this peer has succeeded. */
    silent?: boolean;
    provider: string;
    /** Whether the failure has broken the endpoint. */
    broken: boolean;
    /** The entry of fi_cq_readerr(3), if the provider reported the failure there. */
    completion?: NativeFailedCompletion;
  };

  // int fi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context)
  avOpen(
    domain: Handle<'Domain'>,
    options: { type: string; count: number },
  ): Handle<'AddressVector'>;
  // int fi_av_insert(struct fid_av *av, const void *addr, size_t count, fi_addr_t *fi_addr,
  //                  uint64_t flags, void *context): count is 1
  avInsert(av: Handle<'AddressVector'>, address: Uint8Array): number;
  // The same on a worker thread, with a call for each address, so that each failure has its index.
  avInsertMany(
    av: Handle<'AddressVector'>,
    addresses: Uint8Array,
    ends: Uint32Array,
  ): Promise<{ peers: Uint32Array; error?: FabricError }>;
  // int fi_av_insertsvc(struct fid_av *av, const char *node, const char *service, fi_addr_t *fi_addr,
  //                     uint64_t flags, void *context): on a worker thread
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
  // The next four make no libfabric call. The engine counts the arrivals of remote CQ data.
  /** Completes the request once `count` remote writes with this value have arrived. */
  cqExpect(
    cq: Handle<'CompletionQueue'>,
    value: number | bigint,
    count: number,
    request: number,
  ): void;
  /** Reports the counted arrivals and each further one. A limit of 0 ends that. */
  cqStream(cq: Handle<'CompletionQueue'>, limit: number): void;
  /** Counts arrivals that a stream has reported and its reader has not taken. */
  cqCount(cq: Handle<'CompletionQueue'>, values: BigUint64Array): void;
  /** Discards the counted arrivals. Returns how many were counted, and how many the engine had dropped before. */
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
  // fi_cntr_wait(3): a request of the engine, which calls fi_cntr_read(3) in its turns
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
    peeks: boolean;
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

/** native/js/efa.cc */
export interface NativeEfa {
  // int fi_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context), and query_mr,
  // query_addr, query_qp_wqs and query_cq of struct fi_efa_ops_domain and its successors; fi_efa(7)
  efaQueryMr(domain: Handle<'Domain'>, memory: number): EfaMrAttr;
  efaGetMrLkey(domain: Handle<'Domain'>, memory: number): bigint;
  efaQueryAddr(domain: Handle<'Domain'>, ep: Handle<'Endpoint'>, peer: number): EfaAddr;
  efaQueryQpWqs(domain: Handle<'Domain'>, ep: Handle<'Endpoint'>): EfaQpWqs;
  efaQueryCq(domain: Handle<'Domain'>, cq: Handle<'CompletionQueue'>): EfaCqAttr;
  efaQueryFeature(domain: Handle<'Domain'>, feature: string): boolean;
}

/** A byte of registered memory, and its value. */
export type NativeByte = readonly [memory: number, offset: number, value: number];

/** The events that each round of a batch sets or waits for: native/engine/round_events.h. */
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

/** native/js/batch.cc */
export interface NativeBatches {
  batchCreate(domain: Handle<'Domain'>, entries: number): { batch: number; buffer: ArrayBuffer };
  batchDestroy(domain: Handle<'Domain'>, batch: number): void;
  batchSamples(domain: Handle<'Domain'>, batch: number, count: number): ArrayBuffer;
  batchEvents(domain: Handle<'Domain'>, batch: number, events: NativeRoundEvents): void;
  layout(): Readonly<Record<string, number>>;
}
