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
  readonly byteLength?: number;
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
