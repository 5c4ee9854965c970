import type { Progress } from '../../shared/progress.js';

/** The figures that rank 0 collects. */
export interface Figures {
  /** By sender and receiver: MB/s, or microseconds; null on the diagonal. */
  readonly values: readonly (readonly (number | null)[])[];
  /** The total of all pairs in MB/s, if they were measured at once. */
  readonly total?: number;
  /** The bandwidth of each NIC of a rank in MB/s: summed over all ranks, or in the median pair. */
  readonly nics?: readonly number[];
}

/** Starts to show the progress of steps with these relative durations. */
export type ShowProgress = (weights: readonly number[]) => Progress;

/** A matrix without values. */
export function emptyMatrix(ranks: number): (number | null)[][] {
  return Array.from({ length: ranks }, () => new Array<number | null>(ranks).fill(null));
}
