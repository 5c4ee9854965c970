/** The interconnects over which the device accesses a region. An unknown id is missing. */
export interface EfaMrAttr {
  /** For receives into it. */
  readonly recvIcId?: number;
  /** For RDMA reads into it. */
  readonly rdmaReadIcId?: number;
  /** For peers' RDMA writes into it. */
  readonly rdmaRecvIcId?: number;
}

/** The device's address of a peer. */
export interface EfaAddr {
  /** Its address handle. */
  readonly ahn: number;
  /** The number of its queue pair. */
  readonly remoteQpn: number;
  /** The key of its queue pair. */
  readonly remoteQkey: number;
}

/** A capability of a work queue: its requests and their completions have 64-bit ids. */
export type EfaWqCap = 'FI_EFA_WQ_CAPS_64_BIT_REQ_ID';

/** A work queue of a queue pair, as mapped in this process. */
export interface EfaWqAttr {
  /** Virtual address of its entries. */
  readonly buffer: bigint;
  /** Bytes. */
  readonly entrySize: number;
  readonly numEntries: number;
  /** Virtual address. */
  readonly doorbell: bigint;
  /** The most entries that one doorbell write may post. */
  readonly maxBatch: number;
  /** What the queue can do: libfabric 2.7 and later, otherwise empty. */
  readonly caps: readonly EfaWqCap[];
}

/** The work queues of an endpoint's queue pair. */
export interface EfaQpWqs {
  readonly sq: EfaWqAttr;
  readonly rq: EfaWqAttr;
}

/** A completion queue, as mapped in this process. */
export interface EfaCqAttr {
  /** Virtual address of its entries. */
  readonly buffer: bigint;
  /** Bytes. */
  readonly entrySize: number;
  readonly numEntries: number;
}

/** A feature that releases of the efa provider may have: fi_efa(7). */
export type EfaFeature = 'mixed_hmem_iov' | (string & {});
