import type { LatencyPercentiles, BenchmarkRow } from '../result.js';
import type { Benchmark, Measured } from './benchmark.js';

/** One size's row, in its units. */
export function rowOf(
  benchmark: Benchmark,
  size: number,
  measured: Measured,
  statistics: boolean,
): BenchmarkRow {
  const { timing, iterations } = measured;
  const { seconds } = timing;
  const transfers = iterations * benchmark.transfersPerIteration;
  const row = {
    size,
    iterations,
    transfersPerIteration: benchmark.transfersPerIteration,
    seconds,
    megabytesPerSecond: (size * transfers) / (seconds * 1e6),
    microsecondsPerTransfer: (seconds * 1e6) / transfers,
  };
  if (!statistics) return row;
  const perStep = transfers / timing.steps;
  const latency = percentilesOf(timing.samples, 1000 / perStep);
  const slices = bandwidthsOf(timing.sliceEnds, size * transfers);
  return {
    ...row,
    ...(latency && { latency }),
    ...(slices.length > 0 && { bandwidthSlices: slices }),
    cpu: { own: timing.cpu },
  };
}

/** LatencyPercentiles of samples, each times `scale`; nearest rank. */
export function percentilesOf(samples: Float64Array, scale: number): LatencyPercentiles | undefined {
  if (samples.length === 0) return undefined;
  const sorted = samples.slice().sort();
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] as number) * scale;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

// Slices are equal in bytes.
function bandwidthsOf(ends: readonly number[], bytes: number): number[] {
  return ends.map((end, i) => {
    const milliseconds = end - (ends[i - 1] ?? 0);
    return bytes / ends.length / (milliseconds * 1000);
  });
}
