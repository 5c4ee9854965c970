import { dgramPingpong } from './dgram-pingpong.js';
import { rdmBandwidth } from './rdm-bw.js';
import { rdmCounterPingpong } from './rdm-cntr-pingpong.js';
import { rdmPingpong } from './rdm-pingpong.js';
import { rdmTaggedBandwidth } from './rdm-tagged-bw.js';
import { rdmTaggedPingpong } from './rdm-tagged-pingpong.js';
import { rmaBandwidth } from './rma-bw.js';
import { rmaPingpong } from './rma-pingpong.js';
import { rmaTxCompletion } from './rma-tx-completion.js';
import type { Benchmark } from './shared/benchmark.js';

/** Every benchmark, in the order of the help. */
export const BENCHMARKS: readonly Benchmark[] = [
  rmaBandwidth,
  rmaPingpong,
  rmaTxCompletion,
  rdmBandwidth,
  rdmTaggedBandwidth,
  rdmPingpong,
  rdmTaggedPingpong,
  rdmCounterPingpong,
  dgramPingpong,
];
