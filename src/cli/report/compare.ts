import type { BenchmarkRow } from '../shared/result.js';
import { geometricMean } from '../shared/statistics.js';
import type { Run } from './run.js';

/** A smaller relative difference to the baseline does not count as faster or slower. */
export const NOTABLE = 0.05;

/** A run's rows by size. If several rows have the same size, the last one. */
export function rowsBySize(run: Run): Map<number, BenchmarkRow> {
  return new Map(run.rows.map((row) => [row.size, row]));
}

/** Every size that a run has, ascending. */
export function sizesOf(runs: readonly Run[]): number[] {
  return [...new Set(runs.flatMap(({ rows }) => rows.map(({ size }) => size)))].sort(
    (a, b) => a - b,
  );
}

/** The speedup of a run over the baseline, at each size that both have. */
export function speedups(run: Run, baseline: Run): Map<number, number> {
  const base = rowsBySize(baseline);
  const found = new Map<number, number>();
  for (const [size, row] of rowsBySize(run)) {
    const ratio = (base.get(size)?.microsecondsPerTransfer ?? 0) / row.microsecondsPerTransfer;
    if (ratio > 0 && Number.isFinite(ratio)) found.set(size, ratio);
  }
  return found;
}

/** The geometric mean over the sizes that both have; undefined if there are none. */
export function overallSpeedup(run: Run, baseline: Run): number | undefined {
  const ratios = [...speedups(run, baseline).values()];
  return ratios.length === 0 ? undefined : geometricMean(ratios);
}
