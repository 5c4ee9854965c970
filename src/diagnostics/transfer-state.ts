/** The operation that the holder of a token may do. */
export type Access = 'write' | 'read';

/** The activity of an engine since it was opened: `engine.stats()`. */
export interface TransferStats {
  readonly transfers: {
    /** Running, or ended with copies of slices still in flight. */
    readonly running: number;
    /** Waiting until other transfers have ended. */
    readonly waiting: number;
    readonly done: number;
    readonly failed: number;
    /** Milliseconds: the sum over all completed transfers. */
    readonly duration: number;
    readonly bytesTransferred: number;
  };
  readonly offers: {
    /** Not released yet. */
    readonly open: number;
    /** Arrivals. An offer with `repeat` may have many. */
    readonly arrived: number;
    /** Offers that were released without an arrival. */
    readonly failed: number;
    readonly released: number;
  };
  /** Messages of programs: notify() and notifications(). */
  readonly notifications: {
    readonly sent: number;
    readonly received: number;
    /** Not read yet. */
    readonly unread: number;
    /** Dropped because too many were unread. */
    readonly dropped: number;
  };
}

/** A rail and its state: `engine.rails`. */
export interface RailState {
  readonly index: number;
  /** The domain's name: the NIC. */
  readonly nic: string;
  readonly provider: string;
  readonly fabric: string;
  /** The protocol of the endpoint: `'FI_PROTO_EFA'`. */
  readonly protocol: string;
  /** The NUMA node of the NIC, null if unknown. */
  readonly numaNode: number | null;
  /** Bits per second, null if unknown. */
  readonly speed: number | null;
  /** `'rdma'`: the NIC reads and writes the peer's memory. `'emulated'`: the peer's CPU does. */
  readonly path: 'rdma' | 'emulated' | 'shared-memory' | 'sockets';
  /**
   * Whether software copies the bytes: the path is not `'rdma'`, or the NIC is itself software
   * (softefa).
   */
  readonly emulated: boolean;
  /**
   * The state of the rail, as its last slices show it. `'stalled'`: no slice arrives. `'failing'`: slices fail. In
   * both states other rails carry the slices, and some slices are tried on this rail again. `'broken'`: the
   * provider has broken the endpoint of the rail, and other rails carry the slices until the engine is closed.
   */
  readonly state: 'up' | 'stalled' | 'failing' | 'broken';
  /** Bytes that this rail has sent or read. */
  readonly bytesTransferred: number;
  readonly slices: number;
  /** Slices that failed (`failures`), and how often slices moved to other rails because of a stall (`stalls`). */
  readonly failures: number;
  readonly stalls: number;
  /** Slices that were given to other rails. */
  readonly retries: number;
  /** Remote writes that have arrived on this rail. */
  readonly arrivals: number;
  /** Messages between engines that have arrived on this rail. */
  readonly messages: number;
}

/** A transfer in dumpState(). */
export interface TransferState {
  readonly access: Access;
  /** The identity of the peer's engine. */
  readonly peer: string;
  readonly priority: 'high' | 'normal' | 'low';
  /** `'ending'`: the transfer has failed or has every byte, and copies of slices are still in flight. */
  readonly state: 'running' | 'ending';
  /** Bytes. */
  readonly done: number;
  readonly total: number;
  /** Milliseconds. */
  readonly duration: number;
  readonly retries: number;
}

/** An offer in dumpState(). */
export interface OfferState {
  readonly access: Access;
  /** The identity of the peer's engine. */
  readonly peer: string;
  readonly byteLength: number;
  readonly repeat: boolean;
  /** `'ending'`: the offer was closed or has expired, and copies may still arrive. */
  readonly state: 'open' | 'ending';
  /** How often all bytes have arrived. */
  readonly arrivals: number;
  /** Milliseconds until the offer expires. Negative if it has expired. */
  readonly expiresIn: number;
}

/** The figures of a {@link MemoryPool}. */
export interface MemoryPoolStats {
  /** Buffers that were allocated, or are being allocated. */
  readonly buffers: number;
  /** Bytes of these. */
  readonly byteLength: number;
  /** Buffers that were acquired, until nothing uses them any more. */
  readonly leased: number;
  /** Calls of acquire() that wait for a buffer. */
  readonly waiting: number;
  /** Calls of acquire() that have got a buffer. */
  readonly acquired: number;
  /** Calls of acquire() that had to wait for one. */
  readonly waits: number;
}

/** A pool of memory in dumpState(). */
export interface MemoryPoolState extends MemoryPoolStats {
  readonly name: string;
  /** Bytes of each buffer. */
  readonly size: number;
  /** The most buffers. */
  readonly count: number;
}

/** A transfer engine in dumpState(). */
export interface TransferEngineState {
  readonly id: string;
  readonly rails: readonly RailState[];
  readonly peers: readonly {
    readonly id: string;
    readonly rails: number;
    readonly state: 'connected' | 'silent' | 'lost';
  }[];
  readonly memory: {
    readonly count: number;
    readonly byteLength: number;
  };
  readonly pools: readonly MemoryPoolState[];
  readonly stats: TransferStats;
  /** The first 1000 transfers that run. `stats` has the number of all transfers. */
  readonly transfers: readonly TransferState[];
  /** The first 1000 offers that are open. */
  readonly offers: readonly OfferState[];
}

/** An open transfer engine, for dumps and metrics. */
export interface OpenTransferEngine {
  /** Its number among the engines of the thread, from 1. */
  readonly number: number;
  readonly rails: readonly RailState[];
  readonly pools: readonly MemoryPoolState[];
  stats(): TransferStats;
  state(): TransferEngineState;
}

/** The open transfer engines of this thread, in the order in which they were opened. */
export const transferEngines = new Set<OpenTransferEngine>();
