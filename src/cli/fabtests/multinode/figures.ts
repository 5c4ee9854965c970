/** The figures that rank 0 collects. */
export interface Figures {
  /** By sender and receiver: MB/s, or microseconds; null on the diagonal. */
  readonly values: readonly (readonly (number | null)[])[];
  /** All pairs at once, in MB/s: where they were measured so. */
  readonly total?: number;
  /** What each NIC of a rank has carried, in MB/s: of all ranks at once, or in the median pair. */
  readonly nics?: readonly number[];
}

/** Shows the progress of a measurement. */
export type Progress = (done: number, all: number) => void;

/** A matrix without values. */
export function emptyMatrix(ranks: number): (number | null)[][] {
  return Array.from({ length: ranks }, () => new Array<number | null>(ranks).fill(null));
}
