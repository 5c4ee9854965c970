/** What rank 0 knows in the end. */
export interface Figures {
  /** By sender and receiver: MB/s, or microseconds; null on the diagonal. */
  readonly values: readonly (readonly (number | null)[])[];
  /** All pairs at once, in MB/s: where they were measured so. */
  readonly total?: number;
  /** What each NIC of a rank has carried, in MB/s: of all ranks at once, or in the median pair. */
  readonly nics?: readonly number[];
}

/** Tells how far a measurement has come. */
export type Progress = (done: number, all: number) => void;

/** A matrix to fill. */
export function emptyMatrix(ranks: number): (number | null)[][] {
  return Array.from({ length: ranks }, () => new Array<number | null>(ranks).fill(null));
}
