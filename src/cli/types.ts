/**
 * The types of what the command line prints with `--json`. It exports types only.
 *
 * @example
 * ```ts
 * import type { Diagnosis } from 'libfabric/cli-types';
 *
 * const { stdout } = spawnSync('npx', ['libfabric', 'doctor', '--json'], { encoding: 'utf8' });
 * const diagnosis: Diagnosis = JSON.parse(stdout);
 * ```
 *
 * @module libfabric/cli-types
 */
import type { AnyInfo } from '../contract/info-types.js';
import type { CounterSample } from '../verbs/counters.js';
import type { Device } from '../verbs/device-types.js';

export type { Diagnosis, Efa, Finding, Status } from './doctor/diagnosis.js';
export type {
  CheckResult,
  Outcome,
  SideVerdict,
  Verdict,
} from './fabtests/functional/shared/verdict.js';
export type { Rdma, RmaImplementation } from './shared/rdma.js';
export type {
  BenchmarkResult,
  BenchmarkRow,
  CpuUse,
  LatencyPercentiles,
  MatrixNic,
  MatrixRank,
  MatrixResult,
  RailFigures,
  RailTimeline,
  Result,
  ResultDevice,
  ResultHeader,
  ResultOptions,
  ResultSoftware,
  SliceTimes,
} from './shared/result.js';

/**
 * A value after the command line has written it as JSON: a bigint is a string of decimal digits,
 * bytes are a string of hex digits, a date is a string in the format of ISO 8601.
 */
export type Json<T> = T extends bigint | Uint8Array | Date
  ? string
  : T extends readonly (infer Element)[]
    ? readonly Json<Element>[]
    : T extends object
      ? { readonly [Key in keyof T & string]: Json<T[Key]> }
      : T;

/** The result of `info --json`: entries of getInfo(). A size without limit is `'Infinity'`. */
export type InfoOutput = readonly Json<AnyInfo>[];

/** The result of `devices --json`. */
export type DevicesOutput = readonly Json<Device>[];

/** A line of `stats --json` for a port. */
export type StatsLine = { readonly device: string; readonly port: number } & Json<CounterSample>;
