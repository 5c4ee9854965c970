import { type Handle, native } from '../native.js';

/** How a transfer went. */
export interface TransferReport {
  readonly bytes: number;
  readonly seconds: number;
  readonly slices: number;
  /** Microseconds that slices took: median and 99th percentile. */
  readonly p50: number;
  readonly p99: number;
  /** Slices that were given to another rail after a failure or a stall. */
  readonly retries: number;
  /** What each rail did, in the order of `engine.rails`. */
  readonly rails: readonly RailReport[];
}

/** What one rail did for a transfer. */
export interface RailReport {
  readonly bytes: number;
  readonly slices: number;
  /** Copies of slices that had arrived before. */
  readonly repeats: number;
  /** Slices that were given to other rails. */
  readonly retries: number;
  readonly failures: number;
}

// What native.transferReport() sets for the transfer, and for each rail.
const OWN_FIELDS = 4;
const RAIL_FIELDS = 5;

/** The report of a transfer, or of one that has not started. */
export function reportOf(handle: Handle<'Transfer'> | undefined, count: number): TransferReport {
  const values = new Float64Array(OWN_FIELDS + count * RAIL_FIELDS);
  if (handle !== undefined) native.transferReport(handle, values);
  const [seconds, slices, p50, p99] = values as unknown as [number, number, number, number];
  const rails: RailReport[] = [];
  let bytes = 0;
  let retries = 0;
  for (let at = OWN_FIELDS; at < values.length; at += RAIL_FIELDS) {
    const fields = values.subarray(at) as unknown as [number, number, number, number, number];
    const rail = {
      bytes: fields[0],
      slices: fields[1],
      repeats: fields[2],
      retries: fields[3],
      failures: fields[4],
    };
    bytes += rail.bytes;
    retries += rail.retries;
    rails.push(rail);
  }
  return { bytes, seconds, slices, p50, p99, retries, rails };
}
