import type { BenchmarkResult, MatrixResult } from '../shared/result.js';

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
  const taken = new Set<string>();
  const unique = (name: string) => {
    let free = name;
    for (let i = 2; taken.has(free); i++) free = `${name} (${i})`;
    taken.add(free);
    return free;
  };
  const runs: Run[] = [];
  const matrices: NamedMatrix[] = [];
  for (const { file, kind, measured } of inputs) {
    const name = unique(nameOf(measured, file));
    if (kind === 'matrix') matrices.push({ ...measured, name, file });
    else runs.push({ ...measured, name, file, index: runs.length });
  }
  return { runs, matrices };
}

function nameOf(measured: Measurement | MatrixResult, file: string): string {
  const { label, command, device, startedAt } = measured;
  if (label) return label;
  const operation = 'operation' in measured ? measured.operation : undefined;
  const when = startedAt === undefined ? file : dateText(startedAt);
  return [command, operation, device?.provider, when].filter(Boolean).join(' ');
}

/** `'2026-11-21 12:05'`, UTC. */
export function dateText(iso: string): string {
  return new Date(iso).toISOString().slice(0, 16).replace('T', ' ');
}
