/** The value below which a share of the values lies, interpolated linearly between neighbours. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (at % 1);
}

/** NaN if there are no values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The geometric mean of positive values; NaN if there are none. */
export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
