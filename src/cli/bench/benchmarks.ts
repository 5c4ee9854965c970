import { rdmBandwidth, rdmTaggedBandwidth } from './bandwidth.js';
import type { Benchmark } from './benchmark.js';
import { dgramPingpong, rdmPingpong, rdmTaggedPingpong } from './pingpong.js';
import { rmaBandwidth } from './rma-bandwidth.js';

/** Every benchmark, in the order of the help. */
export const BENCHMARKS: readonly Benchmark[] = [
  rmaBandwidth,
  rdmBandwidth,
  rdmTaggedBandwidth,
  rdmPingpong,
  rdmTaggedPingpong,
  dgramPingpong,
];
