/** The interconnects by which the device reaches a region; an id is missing where it is not known. */
export interface EfaMrAttr {
  /** Of receives into it. */
  readonly recvIcId?: number;
  /** Of RDMA reads into it. */
  readonly rdmaReadIcId?: number;
  /** Of peers' RDMA writes into it. */
  readonly rdmaRecvIcId?: number;
}

/** How the device knows a peer. */
export interface EfaAddr {
  /** Its address handle. */
  readonly ahn: number;
  /** The number of its queue pair. */
  readonly remoteQpn: number;
  /** The key of its queue pair. */
  readonly remoteQkey: number;
}

/** A work queue of a queue pair, where it is mapped in this process. */
export interface EfaWqAttr {
  /** Virtual address of its entries. */
  readonly buffer: bigint;
  /** Bytes. */
  readonly entrySize: number;
  readonly numEntries: number;
  /** Virtual address. */
  readonly doorbell: bigint;
  /** Entries that one ring of the doorbell may post. */
  readonly maxBatch: number;
}

/** The work queues of an endpoint's queue pair. */
export interface EfaQpWqs {
  readonly sq: EfaWqAttr;
  readonly rq: EfaWqAttr;
}

/** A completion queue, where it is mapped in this process. */
export interface EfaCqAttr {
  /** Virtual address of its entries. */
  readonly buffer: bigint;
  /** Bytes. */
  readonly entrySize: number;
  readonly numEntries: number;
}

/** What a release of the efa provider may have mended: fi_efa(7). */
export type EfaFeature = 'mixed_hmem_iov' | (string & {});
