import { expect, test } from 'vitest';
import { percentilesOf } from '../../../../dist/cli/fabtests/common/result-row.js';
import {
  perfHeader,
  perfRow,
  perfYaml,
  perfYamlHeader,
  pingpongHeader,
  pingpongRow,
} from '../../../../dist/cli/shared/perf-table.js';

// A run of 20,000 transfers of 64 bytes in 36.123 ms, which fabtests print in the same way.
const PERF = { size: 64, iterations: 20_000, seconds: 0.036_123, transfersPerIteration: 1 };

test('the table has the characters of the table of fabtests', () => {
  expect(perfHeader()).toBe(
    'bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec',
  );
  expect(perfRow(PERF)).toBe('64      20k     1.2m        0.04s     35.43       1.81       0.55');
  expect(perfRow({ size: 1536, iterations: 100, seconds: 1, transfersPerIteration: 2 })).toBe(
    '1.5k    100     300k        1.00s      0.31    5000.00       0.00',
  );
});

test('the YAML has the characters of the YAML of fabtests', () => {
  expect(perfYamlHeader(['fi_rma_bw', '-m'])).toBe('---\nfi_rma_bw -m :');
  expect(perfYaml(PERF)).toBe(
    '- { xfer_size: 64, iterations: 20000, total: 1280000, time: 0.036123, ' +
      'MB/sec: 35.434488, usec/xfer: 1.806150, Mxfers/sec: 0.553664 }',
  );
});

test('the table of pingpong has the numbers of sent and acknowledged messages', () => {
  expect(pingpongHeader()).toBe(
    'bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec',
  );
  const perf = { size: 64, iterations: 10, seconds: 0.000_2, transfersPerIteration: 2 };
  expect(pingpongRow(perf, 10)).toBe(
    '64      10      =10      1.2k        0.00s      6.40      10.00       0.10',
  );
  expect(pingpongRow(perf, 7)).toContain('10      +3       ');
});

test('percentiles use the nearest rank', () => {
  const samples = Float64Array.from({ length: 1000 }, (_, i) => 1000 - i);
  expect(percentilesOf(samples, 2)).toEqual({ p50: 1000, p99: 1980, p999: 1998, max: 2000 });
  expect(percentilesOf(new Float64Array(0), 1)).toBeUndefined();
});
