import type { DriverKind, Stats } from './engine/kinds.js';
import type { TransferEngineState } from './transfer/state-types.js';

/** An operation, or another request, that has not completed. */
export interface OperationState {
  /**
   * The libfabric call: `'fi_sendmsg'`, `'fi_recvmsg'`, `'fi_cntr_wait'`; `'fi_close'` and
   * `'fi_av_remove'` for a close or removal; `'batch'` for a submission; `'arrived'` for
   * cq.arrived().
   */
  readonly call: string;
  /**
   * `'waiting'`: waits for room in the provider. `'posted'`: the provider has it. `'ending'`: ends
   * when its last operation does.
   */
  readonly state: 'waiting' | 'posted' | 'ending';
  /** Its number. The same number in the next dump is probably the same operation. */
  readonly request?: number;
  /** The endpoint's id. */
  readonly endpoint?: number;
  /** The peer's address in printable form. '' if the provider cannot print it. */
  readonly peer?: string;
  readonly bytes?: number;
  /** The number of missing operations of a batch, arrivals or counts. */
  readonly remaining?: number;
}

/** An endpoint in dumpState(). */
export interface EndpointState {
  readonly id: number;
  /** Operations and submissions that the provider has. */
  readonly inFlight: number;
  /** Operations that are waiting for room in the provider. */
  readonly waitingSends: number;
  readonly waitingReceives: number;
  readonly closing: boolean;
  /** Closed by close(), while the provider still has operations in flight. */
  readonly left: boolean;
  readonly broken: boolean;
  /** Ids of completion queues. */
  readonly sendQueue: number;
  readonly receiveQueue: number;
}

/** The engine of a domain in dumpState(). */
export interface EngineState {
  /**
   * Whether the provider does not return from closing an endpoint. Then nothing in the domain works
   * any more.
   */
  readonly frozen: boolean;
  readonly endpoints: readonly EndpointState[];
  readonly completionQueues: readonly {
    readonly id: number;
    /** Entries. */
    readonly size: number;
    readonly waitable: boolean;
    readonly broken: boolean;
  }[];
  readonly addressVectors: readonly { readonly peers: number }[];
  readonly counters: readonly { readonly value: string; readonly errors: string }[];
  readonly memory: {
    /**
     * Registered memory: allocated, registered, or used with a provider that requires registration.
     */
    readonly regions: number;
    readonly registeredBytes: number;
    /** Other memory that operations have used. */
    readonly buffers: number;
    /** The total size of the regions and buffers that operations in flight use. */
    readonly bytesInUse: number;
  };
  readonly batches: readonly {
    readonly id: number;
    /** Operations in the last submission. */
    readonly sends: number;
    readonly receives: number;
    /** Submissions. */
    readonly inFlight: number;
  }[];
  /** The number of operations in flight. `operations` holds the first 1000. */
  readonly inFlight: number;
  readonly operations: readonly OperationState[];
}

/** A domain and its objects in dumpState(). */
export interface DomainState {
  readonly fabric: string | null;
  readonly domain: string | null;
  readonly provider: string | null;
  readonly driver: DriverKind;
  readonly stats: Stats;
  /** JavaScript's requests that have not completed: operations, batches, waits. */
  readonly pending: number;
  /** Entries of 64 bytes that JavaScript has written and the engine has not read. */
  readonly unread: number;
  /** Completions that the engine has written and JavaScript has not read. */
  readonly undelivered: number;
  /**
   * Null if the engine did not release its lock within a second, because a provider call does not
   * return.
   */
  readonly engine: EngineState | null;
}

/** The resources of a closed domain that the provider still uses. */
export interface ParkedDomain {
  readonly provider: string;
  readonly domain: string;
  /**
   * Endpoints that are not closed yet: endpoints with shared memory that a peer in this process
   * still has in its address vector, and endpoints with operations that never end.
   */
  readonly endpoints: number;
  /**
   * The error with which the provider refused to close the domain: `'FI_EBUSY'`. Null if it was
   * closed.
   */
  readonly refused: string | null;
}

/** The result of dumpState(): plain values that JSON can represent. */
export interface LibraryState {
  /** ISO 8601. */
  readonly time: string;
  readonly pid: number;
  /** 0: the main thread. */
  readonly threadId: number;
  readonly nodeVersion: string;
  /** The version of libfabric, and the file it was loaded from. */
  readonly libraryVersion: string;
  readonly libraryPath: string | null;
  readonly domains: readonly DomainState[];
  /** The engines of libfabric/transfer. Their rails are also among the domains. */
  readonly transferEngines: readonly TransferEngineState[];
  /** The parked domains of all threads of the process. */
  readonly parked: readonly ParkedDomain[];
}
