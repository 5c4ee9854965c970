import type { BenchmarkResult, MatrixResult } from '../shared/result.js';

/** What the report needs of a benchmark, whoever measured it: fabtests say less than this package. */
export interface Measurement
  extends Pick<BenchmarkResult, 'command' | 'arguments' | 'rows' | 'warnings'>,
    Partial<
      Pick<
        BenchmarkResult,
        'label' | 'startedAt' | 'software' | 'device' | 'role' | 'operation' | 'options'
      >
    > {}

/** Something read from a file. */
export type Input = { readonly file: string } & (
  | { readonly kind: 'benchmark'; readonly measured: Measurement }
  | { readonly kind: 'matrix'; readonly measured: MatrixResult }
);

/** A benchmark of the report. */
export interface Run extends Measurement {
  /** Its place among the runs; the one at 0 is what the others are compared with. */
  readonly index: number;
  /** No other run of the report has it. */
  readonly name: string;
  readonly file: string;
}

/** A matrix of the report. */
export interface NamedMatrix extends MatrixResult {
  readonly name: string;
  readonly file: string;
}

/** Splits what was read into benchmarks and matrices, each with a name of its own. */
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
