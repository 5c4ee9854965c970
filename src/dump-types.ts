import type { DriverKind, Stats } from './engine/engine.js';

/** An operation, or another request, that has not completed. */
export interface OperationState {
  /**
   * The call of libfabric's: `'fi_sendmsg'`, `'fi_recvmsg'`, `'fi_cntr_wait'`; `'fi_close'` and
   * `'fi_av_remove'` of what ends; `'batch'` for a submission, `'arrived'` for cq.arrived().
   */
  readonly call: string;
  /** Whether it waits for room in the provider, is posted, or ends when its last operation does. */
  readonly state: 'waiting' | 'posted' | 'ending';
  /** Its number: the same in the next dump means that it is probably the same operation. */
  readonly request?: number;
  /** The endpoint's id. */
  readonly endpoint?: number;
  /** The peer's address, printable; '' where the provider does not tell. */
  readonly peer?: string;
  readonly bytes?: number;
  /** Operations of a batch, arrivals or counts that are missing. */
  readonly remaining?: number;
}

/** What dumpState() knows of an endpoint. */
export interface EndpointState {
  readonly id: number;
  /** Operations and submissions that the provider has. */
  readonly inFlight: number;
  /** Operations that wait for room in the provider. */
  readonly waitingSends: number;
  readonly waitingReceives: number;
  readonly closing: boolean;
  /** Closed by close(), with operations in flight that the provider is not done with. */
  readonly left: boolean;
  readonly broken: boolean;
  /** Ids of completion queues. */
  readonly sendQueue: number;
  readonly receiveQueue: number;
}

/** What the engine of a domain has. */
export interface EngineState {
  /**
   * Whether the provider does not return from the close of an endpoint: then nothing of the domain works
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
    /** Registered memory: allocated, registered, or used by a provider that wants it registered. */
    readonly regions: number;
    readonly registeredBytes: number;
    /** Other memory that operations have used. */
    readonly buffers: number;
    /** Of memory that operations in flight use, whole regions and buffers. */
    readonly bytesInUse: number;
  };
  readonly batches: readonly {
    readonly id: number;
    /** Operations, as last submitted. */
    readonly sends: number;
    readonly receives: number;
    /** Submissions. */
    readonly inFlight: number;
  }[];
  /** How many there are; `operations` holds the first 1000. */
  readonly inFlight: number;
  readonly operations: readonly OperationState[];
}

/** What dumpState() knows of a domain and what was opened of it. */
export interface DomainState {
  readonly fabric: string | null;
  readonly domain: string | null;
  readonly provider: string | null;
  readonly driver: DriverKind;
  readonly stats: Stats;
  /** Requests of JavaScript that have not completed: operations, batches, waits. */
  readonly pending: number;
  /** Entries of 64 bytes that JavaScript has written and the engine has not read. */
  readonly unread: number;
  /** Completions that the engine has written and JavaScript has not read. */
  readonly undelivered: number;
  /**
   * Null where the engine has not let go of what it is at for a second: a call of the provider does
   * not return.
   */
  readonly engine: EngineState | null;
}

/** What a domain that was closed keeps, because the provider does not let go of it. */
export interface ParkedDomain {
  readonly provider: string;
  readonly domain: string;
  /**
   * Endpoints that are not closed yet: those of shared memory that a peer of this process still knows,
   * and those that have operations in flight which never end.
   */
  readonly endpoints: number;
  /** Why the provider refused to close the domain itself: `'FI_EBUSY'`; null where it did not. */
  readonly refused: string | null;
}

/** What dumpState() returns: plain values, as JSON has them. */
export interface LibraryState {
  /** ISO 8601. */
  readonly time: string;
  readonly pid: number;
  /** 0: the main thread. */
  readonly threadId: number;
  readonly nodeVersion: string;
  /** That of libfabric, and the file it was loaded from. */
  readonly libraryVersion: string;
  readonly libraryPath: string | null;
  readonly domains: readonly DomainState[];
  /** Of the whole process, all threads. */
  readonly parked: readonly ParkedDomain[];
}
