import { type Handle, native } from '../contract/native.js';
import { MAX_RAILS } from './settings.js';

/** The report of a transfer. */
export interface TransferReport {
  readonly byteLength: number;
  /** Milliseconds. */
  readonly duration: number;
  readonly slices: number;
  /** Milliseconds that slices took: the median (p50) and the 99th percentile (p99). */
  readonly p50: number;
  readonly p99: number;
  /** Slices that were given to another rail after a failure or a stall. */
  readonly retries: number;
  /** The report of each rail, in the order of `engine.rails`. */
  readonly rails: readonly RailReport[];
}

/** The part of one rail in a transfer. */
export interface RailReport {
  readonly byteLength: number;
  readonly slices: number;
  /** Copies of slices that had arrived before. */
  readonly repeats: number;
  /** Slices that were given to other rails. */
  readonly retries: number;
  readonly failures: number;
}

// The numbers of fields that native.transferReport() sets for the transfer, and for each rail.
const OWN_FIELDS = 4;
const RAIL_FIELDS = 5;

// All reports share this array, because each report is read from it immediately.
const values = new Float64Array(OWN_FIELDS + MAX_RAILS * RAIL_FIELDS);

/** The report of a transfer. If `handle` is undefined, the transfer has not started, and all figures are 0. */
export function reportOf(handle: Handle<'Transfer'> | undefined, count: number): TransferReport {
  if (handle === undefined) values.fill(0);
  else native.transferReport(handle, values);
  const at = (index: number) => values[index] as number;
  const rails: RailReport[] = [];
  let byteLength = 0;
  let retries = 0;
  for (let i = 0; i < count; i++) {
    const first = OWN_FIELDS + i * RAIL_FIELDS;
    const rail = {
      byteLength: at(first),
      slices: at(first + 1),
      repeats: at(first + 2),
      retries: at(first + 3),
      failures: at(first + 4),
    };
    byteLength += rail.byteLength;
    retries += rail.retries;
    rails.push(rail);
  }
  // The addon sets seconds, and the microseconds of a slice.
  const [duration, p50, p99] = [at(0) * 1000, at(2) / 1000, at(3) / 1000];
  return { byteLength, duration, slices: at(1), p50, p99, retries, rails };
}
