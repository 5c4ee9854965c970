import type { BenchmarkResult, MatrixResult } from '../shared/result.js';
import { namesOf } from './names.js';

/** The parts of a result that the report needs. fabtests print fewer of them than this package. */
export interface Measurement
  extends Pick<BenchmarkResult, 'command' | 'arguments' | 'rows' | 'warnings'>,
    Partial<
      Pick<
        BenchmarkResult,
        'label' | 'startedAt' | 'software' | 'device' | 'role' | 'operation' | 'options'
      >
    > {}

/** A result read from a file. */
export type Input = { readonly file: string } & (
  | { readonly kind: 'benchmark'; readonly measured: Measurement }
  | { readonly kind: 'matrix'; readonly measured: MatrixResult }
);

/** A benchmark of the report. */
export interface Run extends Measurement {
  /** Its index among the runs. The others are compared with the run at 0. */
  readonly index: number;
  /** A name that is unique in the report. */
  readonly name: string;
  readonly file: string;
}

/** A matrix of the report. */
export interface NamedMatrix extends MatrixResult {
  readonly name: string;
  readonly file: string;
}

/** Splits the inputs into benchmarks and matrices, each with a unique name. */
export function namedInputs(inputs: readonly Input[]): { runs: Run[]; matrices: NamedMatrix[] } {
  const named = <T extends Parameters<typeof namesOf>[0][number]>(all: readonly T[]) => {
    const names = namesOf(all);
    return all.map((one, i) => ({ ...one, name: names[i] as string }));
  };
  const runs = inputs.flatMap(({ kind, measured, file }) =>
    kind === 'benchmark' ? [{ ...measured, file }] : [],
  );
  const matrices = inputs.flatMap(({ kind, measured, file }) =>
    kind === 'matrix' ? [{ ...measured, file }] : [],
  );
  return { runs: named(runs).map((run, index) => ({ ...run, index })), matrices: named(matrices) };
}
