import { rdmBandwidth, rdmTaggedBandwidth } from './bandwidth.js';
import type { Benchmark } from './benchmark.js';
import { dgramPingpong, rdmCounterPingpong, rdmPingpong, rdmTaggedPingpong } from './pingpong.js';
import { rmaBandwidth } from './rma-bandwidth.js';
import { rmaPingpong } from './rma-pingpong.js';
import { rmaTxCompletion } from './rma-tx-completion.js';

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
