import { rmaBandwidth } from './rma-bw.js';
import { rmaPingpong } from './rma-pingpong.js';
import { rmaTxCompletion } from './rma-tx-completion.js';
import { rdmBandwidth, rdmTaggedBandwidth } from './shared/bandwidth.js';
import type { Benchmark } from './shared/benchmark.js';
import {
  dgramPingpong,
  rdmCounterPingpong,
  rdmPingpong,
  rdmTaggedPingpong,
} from './shared/pingpong.js';

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
