// The result of a benchmark as JSON. `libfabric <benchmark> --json` prints it, and `libfabric report`
// reads it. Units are those of fabtests: MB are 10^6 bytes, and a transfer of a ping-pong is half a
// round trip.
import type { Rdma } from './rdma.js';

/** `format` of every result. */
export const RESULT_FORMAT = 'libfabric-result';

/** `version` of the results that this package writes and reads. */
export const RESULT_VERSION = 1;

/** A result: of one benchmark over some sizes, or of every pair of ranks. */
export type Result = BenchmarkResult | MatrixResult;

/** The origin of a result. */
export interface ResultHeader {
  readonly format: typeof RESULT_FORMAT;
  readonly version: typeof RESULT_VERSION;
  /** The benchmark: `'rma-bw'`. */
  readonly command: string;
  /** The arguments it was started with. */
  readonly arguments: readonly string[];
  /** When it started: ISO 8601. */
  readonly startedAt: string;
  /** The user's name for it. */
  readonly label?: string;
  readonly software: ResultSoftware;
  readonly device: ResultDevice;
  /** Warnings that a reader must know to interpret the figures. */
  readonly warnings: readonly string[];
}

/** Versions of the software. */
export interface ResultSoftware {
  readonly package: string;
  readonly libfabric: string;
  readonly node: string;
  readonly kernel: string;
}

/** The measured device, in libfabric's names (fi_getinfo(3)). */
export interface ResultDevice {
  readonly provider: string;
  readonly fabric: string;
  readonly domain: string;
  /** `'FI_EP_RDM'` or `'FI_EP_DGRAM'`. */
  readonly endpointType: string;
  /** `'FI_PROTO_EFA'`. */
  readonly protocol: string;
  /** Whether software takes the place of a device: softefa. */
  readonly software: boolean;
  /** How reads and writes are carried out, if the endpoint reports it. */
  readonly rdma?: Rdma;
}

/** One benchmark between two processes, over some sizes. */
export interface BenchmarkResult extends ResultHeader {
  readonly kind: 'benchmark';
  /** The side that wrote the result. */
  readonly role: 'client' | 'server';
  /** The measured operation, if the benchmark has several: `'write'`. */
  readonly operation?: string;
  readonly options: ResultOptions;
  readonly rows: readonly BenchmarkRow[];
}

/** How a benchmark ran. */
export interface ResultOptions {
  /** Operations in flight at once. */
  readonly window?: number;
  /** Whether every byte was compared with what was sent. */
  readonly verify: boolean;
  readonly [option: string]: unknown;
}

/** The figures of one size. */
export interface BenchmarkRow {
  /** Bytes of a transfer. */
  readonly size: number;
  readonly iterations: number;
  /** Transfers of an iteration: 2 for a ping-pong. */
  readonly transfersPerIteration: number;
  /** Seconds that all the iterations took. */
  readonly seconds: number;
  /** 10^6 bytes a second. */
  readonly megabytesPerSecond: number;
  readonly microsecondsPerTransfer: number;
  readonly latency?: LatencyPercentiles;
  /** 10^6 bytes a second in successive equal slices of the run. */
  readonly bandwidthSlices?: readonly number[];
  readonly cpu?: CpuUse;
  /** The part of each NIC, if there are several. */
  readonly nics?: readonly MatrixNic[];
  /** The slices of the transfers, if the benchmark cuts them: `transfer`. */
  readonly slices?: SliceTimes;
  /** The figures of each rail: `transfer`. */
  readonly rails?: readonly RailFigures[];
  /** The bandwidth of each rail over time: `transfer`. */
  readonly railTimeline?: RailTimeline;
  /**
   * The increase of the counters of the device's port, by name (`tx_bytes`). Counters that did not change are
   * left out.
   */
  readonly counters?: Readonly<Record<string, number>>;
}

/** Microseconds of a transfer. */
export interface LatencyPercentiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Microseconds of a slice: the medians of the percentiles of each transfer. */
export interface SliceTimes {
  readonly p50: number;
  readonly p99: number;
}

/** The figures of a rail of a transfer engine, over all transfers of a size. */
export interface RailFigures {
  readonly name: string;
  readonly bytes: number;
  readonly slices: number;
  /** Copies of slices that had arrived before. */
  readonly repeats: number;
  /** Slices that were given to other rails. */
  readonly retries: number;
  readonly failures: number;
}

/** The bandwidth of rails in successive intervals, from the first measured transfer on. */
export interface RailTimeline {
  /** The end of each interval. */
  readonly milliseconds: readonly number[];
  /** 10^6 bytes a second: a list of intervals for each rail. */
  readonly megabytesPerSecond: readonly (readonly number[])[];
}

/** Cores that a process kept busy: 1 is one core. */
export interface CpuUse {
  /** The process that wrote the result. */
  readonly own: number;
  /** The peer's process. */
  readonly peer?: number;
}

/** One figure for every pair of ranks, at one size. */
export interface MatrixResult extends ResultHeader {
  readonly kind: 'matrix';
  readonly ranks: readonly MatrixRank[];
  /** Bytes of a transfer. */
  readonly size: number;
  /** The unit of `values`: 10^6 bytes a second, or microseconds of a transfer. */
  readonly metric: 'MB/s' | 'us';
  /**
   * A row for each sender, a column for each receiver; null on the diagonal and for pairs that failed.
   */
  readonly values: readonly (readonly (number | null)[])[];
  /** The measured operation: `'write'`. */
  readonly operation?: string;
  /** How it was measured. */
  readonly options?: ResultOptions;
  /** The total of all pairs in 10^6 bytes a second, if they were measured at once. */
  readonly totalMegabytesPerSecond?: number;
  /** The bandwidth of the NICs: summed over all ranks, or in the median pair. */
  readonly nics?: readonly MatrixNic[];
}

/**
 * One of several NICs: of a benchmark's side, or of every rank of a matrix by its name at rank 0.
 */
export interface MatrixNic {
  readonly name: string;
  /** 10^6 bytes a second. */
  readonly megabytesPerSecond: number;
}

/** A process of a matrix. */
export interface MatrixRank {
  readonly rank: number;
  /** The name of its host, or of its container. */
  readonly host: string;
  /** Equal for the ranks of one host. If it is left out, ranks with the same host name are of one host. */
  readonly machine?: number;
}
