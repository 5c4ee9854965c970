import type { BenchmarkRow, LatencyPercentiles } from '../../shared/result.js';
import type { Slice, Timing } from './measure.js';

/** The row of one size, in the units of a result. */
export function rowOf(
  size: number,
  transfersPerIteration: number,
  timing: Timing,
  statistics: boolean,
): BenchmarkRow {
  const { iterations, seconds } = timing;
  const transfers = iterations * transfersPerIteration;
  const row = {
    size,
    iterations,
    transfersPerIteration,
    seconds,
    megabytesPerSecond: (size * transfers) / (seconds * 1e6),
    microsecondsPerTransfer: (seconds * 1e6) / transfers,
    ...(timing.nics && { nics: timing.nics }),
  };
  if (!statistics) return row;
  const latency = percentilesOf(timing.samples, 1000 / transfersPerIteration);
  const slices = bandwidthsOf(timing.slices, size * transfersPerIteration);
  return {
    ...row,
    ...(latency && { latency }),
    ...(slices.length > 0 && { bandwidthSlices: slices }),
    cpu: { own: timing.cpu },
  };
}

/** LatencyPercentiles of samples, each times `scale`; nearest rank. */
export function percentilesOf(
  samples: Float64Array,
  scale: number,
): LatencyPercentiles | undefined {
  if (samples.length === 0) return undefined;
  const sorted = samples.slice().sort();
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] as number) * scale;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

function bandwidthsOf(slices: readonly Slice[], bytes: number): number[] {
  return slices.map(({ iterations, milliseconds }) => (iterations * bytes) / (milliseconds * 1000));
}
