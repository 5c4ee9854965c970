import type { RailReport, TransferReport } from '../../transfer/report.js';
import type { BenchmarkRow, RailFigures } from '../shared/result.js';
import { median } from '../shared/statistics.js';

/** A completed transfer, and how long its caller waited for it. */
export interface Done {
  readonly report: TransferReport;
  readonly seconds: number;
}

/** The figures of the transfers of a size. `names` are those of the rails. */
export function rowOf(
  size: number,
  done: readonly Done[],
  names: readonly string[],
): BenchmarkRow & { readonly rails: readonly RailFigures[] } {
  const seconds = done.reduce((sum, each) => sum + each.seconds, 0);
  const rails = names.map((name, index) => {
    const sum = (figure: keyof RailReport) =>
      done.reduce((all, { report }) => all + (report.rails[index]?.[figure] ?? 0), 0);
    return {
      name,
      bytes: sum('byteLength'),
      slices: sum('slices'),
      repeats: sum('repeats'),
      retries: sum('retries'),
      failures: sum('failures'),
    };
  });
  const rateOf = (bytes: number) => bytes / seconds / 1e6;
  return {
    size,
    iterations: done.length,
    transfersPerIteration: 1,
    seconds,
    megabytesPerSecond: rateOf(size * done.length),
    microsecondsPerTransfer: (seconds * 1e6) / done.length,
    slices: {
      p50: median(done.map(({ report }) => report.p50 * 1000)),
      p99: median(done.map(({ report }) => report.p99 * 1000)),
    },
    rails,
    ...(rails.length > 1 && {
      nics: rails.map(({ name, bytes }) => ({ name, megabytesPerSecond: rateOf(bytes) })),
    }),
  };
}
