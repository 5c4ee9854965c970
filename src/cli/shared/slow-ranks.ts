import type { MatrixResult } from './result.js';
import { median } from './statistics.js';

/** A rank is slow below this share of the speed of all pairs. */
export const SLOW_RANK = 0.8;

/** A pair is slow below this share if neither of its ranks is slow. */
export const SLOW_PAIR = 0.6;

/**
 * The speed of a rank relative to all. Speeds are multiples of the median pair's: 0.5 is half as
 * fast.
 */
export interface RankSpeed {
  readonly rank: number;
  readonly host: string;
  /** The median of its values as a sender, in the matrix's unit; NaN if there are none. */
  readonly sends: number;
  readonly sendSpeed: number;
  /** The median of its values as a receiver. */
  readonly receives: number;
  readonly receiveSpeed: number;
  readonly slow: boolean;
}

/** Two ranks whose traffic with each other is slower than with other ranks. */
export interface SlowPair {
  readonly sender: number;
  readonly receiver: number;
  readonly speed: number;
}

/** The median of all pairs. */
export function typicalValue({ values }: MatrixResult): number {
  return median(
    values.flatMap((row, i) => row.filter((value, j) => i !== j && value !== null)) as number[],
  );
}

/**
 * The speed of a value as a multiple of a typical one: higher bandwidth or lower time is faster.
 */
export function speedOf(value: number, typical: number, metric: MatrixResult['metric']): number {
  return metric === 'us' ? typical / value : value / typical;
}

/** Each rank's medians, and which ranks are slow. */
export function rankSpeeds(matrix: MatrixResult): RankSpeed[] {
  const typical = typicalValue(matrix);
  const speed = (value: number) => speedOf(value, typical, matrix.metric);
  const present = (values: readonly (number | null | undefined)[], own: number) =>
    values.filter((value, i) => i !== own && value !== null && value !== undefined) as number[];
  return matrix.ranks.map(({ rank, host }, i) => {
    const sends = median(present(matrix.values[i] ?? [], i));
    const receives = median(
      present(
        matrix.values.map((row) => row[i]),
        i,
      ),
    );
    const slow = speed(sends) < SLOW_RANK || speed(receives) < SLOW_RANK;
    return {
      rank,
      host,
      sends,
      sendSpeed: speed(sends),
      receives,
      receiveSpeed: speed(receives),
      slow,
    };
  });
}

/** The pairs slower than `share` between ranks that are not slow themselves, slowest first. */
export function slowPairs(
  matrix: MatrixResult,
  ranks: readonly RankSpeed[],
  share = SLOW_PAIR,
): SlowPair[] {
  const typical = typicalValue(matrix);
  const found: SlowPair[] = [];
  for (const [i, from] of ranks.entries()) {
    for (const [j, to] of ranks.entries()) {
      const value = matrix.values[i]?.[j] ?? null;
      if (i === j || value === null || from.slow || to.slow) continue;
      const speed = speedOf(value, typical, matrix.metric);
      if (speed < share) found.push({ sender: from.rank, receiver: to.rank, speed });
    }
  }
  return found.sort((a, b) => a.speed - b.speed);
}
