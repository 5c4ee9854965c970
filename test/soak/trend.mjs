// Whether a resource grows: the slope of a line through its samples, with a confidence interval.

/** Successive samples are correlated. The means of this many blocks are nearly independent. */
const BLOCKS = 20;
/** Two-sided 95 %, Student's t with BLOCKS - 2 degrees of freedom. */
const T = 2.101;

/**
 * @param {{ time: number, value: number }[]} samples at least 2 * BLOCKS of them
 * @returns {{ slope: number, low: number, high: number }} per unit of time
 */
export function trendOf(samples) {
  const points = blocksOf(samples);
  const mean = (list) => list.reduce((sum, one) => sum + one, 0) / list.length;
  const [time, value] = [mean(points.map((p) => p.time)), mean(points.map((p) => p.value))];
  const sxx = points.reduce((sum, p) => sum + (p.time - time) ** 2, 0);
  const slope = points.reduce((sum, p) => sum + (p.time - time) * (p.value - value), 0) / sxx;
  const rest = points.map((p) => p.value - value - slope * (p.time - time));
  const error = Math.sqrt(rest.reduce((sum, r) => sum + r * r, 0) / (points.length - 2) / sxx);
  return { slope, low: slope - T * error, high: slope + T * error };
}

function blocksOf(samples) {
  const size = Math.floor(samples.length / BLOCKS);
  return Array.from({ length: BLOCKS }, (_, i) => {
    const block = samples.slice(i * size, (i + 1) * size);
    const mean = (name) => block.reduce((sum, one) => sum + one[name], 0) / size;
    return { time: mean('time'), value: mean('value') };
  });
}

/** The fewest samples that trendOf() takes. */
export const FEWEST = 2 * BLOCKS;
