// The measurements that `npm start` makes of each provider.
import { rdmPingpong } from '../fabtests/benchmarks/rdm-pingpong.js';
import { rmaBandwidth } from '../fabtests/benchmarks/rma-bw.js';
import type { BenchmarkRow } from '../shared/result.js';
import { type Measurement, SIZES } from './benchmarks.js';
import { figureText } from './texts.js';

export interface Step extends Measurement {
  readonly summary: (row: BenchmarkRow) => string;
  /** The size in the summary. */
  readonly size: number;
}

export const STEPS: readonly Step[] = [
  {
    benchmark: rdmPingpong,
    name: 'latency',
    title: 'ping-pong latency, half a round trip',
    options: [],
    size: 64,
    summary: (row) =>
      `${figureText(row.microsecondsPerTransfer)} µs for 64 B, half a round trip of messages`,
  },
  {
    benchmark: rmaBandwidth,
    name: 'bandwidth',
    title: 'RMA write bandwidth, client to server, 64 writes in flight',
    options: ['-o', 'writedata'],
    size: 2 ** 20,
    summary: (row) => `${figureText(row.megabytesPerSecond)} MB/s for 1 MiB, 64 writes in flight`,
  },
];

/** The sizes that a step runs: one, or with -v all. */
export const sizesOf = (step: Step, verbose: boolean) => (verbose ? SIZES : [step.size]);
