// The bytes of `libfabric transfer`, and the bandwidth of its rails over time.
import { describe, expect, test } from 'vitest';
import { Layout, shuffled } from '../../../dist/cli/transfer/data.js';
import { rowOf } from '../../../dist/cli/transfer/row.js';
import { Timeline } from '../../../dist/cli/transfer/timeline.js';

const MIB = 2 ** 20;

const LAYOUTS = [
  ['less than a word', 3, undefined],
  ['more than a block', 2 * MIB + 5, undefined],
  ['pages of 4 KiB', 64 * 4096, 4096],
  ['pages of an odd size', 50 * 1001, 1001],
  ['pages of more than a block', 7 * (MIB + 3), MIB + 3],
] as const;

/** The memory of a layout after a transfer that the seed identifies. */
function filled(layout: Layout, seed: number): Uint8Array {
  const memory = new Uint8Array(layout.size);
  layout.fill(memory, seed);
  return memory;
}

describe.each(LAYOUTS)('%s', (_, size, pageSize) => {
  const server = new Layout(size, pageSize, 2);

  test('is verified after its own transfer, and not after another one', () => {
    server.verify(filled(server, 7), 7);
    expect(() => server.verify(filled(server, 6), 7)).toThrow(
      /^Data check error \(\d+!=\d+\) at byte/,
    );
  });

  test('a wrong byte is found anywhere', () => {
    for (const at of [0, Math.floor(size / 2), size - 1]) {
      const memory = filled(server, 7);
      memory[at] = (memory[at] as number) ^ 1;
      expect(() => server.verify(memory, 7)).toThrow(`of ${size}`);
    }
  });
});

test.each(LAYOUTS.filter(([, , pageSize]) => pageSize !== undefined))(
  '%s in the order of the other side are found',
  (_, size, pageSize) => {
    const [client, server] = [new Layout(size, pageSize, 1), new Layout(size, pageSize, 2)];
    const memory = filled(client, 7);
    client.verify(memory, 7);
    expect(() => server.verify(memory, 7)).toThrow('Data check error');
  },
);

test('shuffled numbers are all of them, in another order for each seed', () => {
  const [first, second] = [shuffled(1000, 1), shuffled(1000, 2)];
  const all = Uint32Array.from({ length: 1000 }, (_, i) => i);
  for (const numbers of [first, second]) {
    expect(numbers.toSorted()).toEqual(all);
    expect(numbers).not.toEqual(all);
  }
  expect(first).not.toEqual(second);
  expect(shuffled(1000, 1)).toEqual(first);
});

test('a row has the sums of all transfers, and the median of their percentiles', () => {
  const report = (p50: number, failures: number) => ({
    ...{ byteLength: 3000, duration: 9, slices: 3, p50, p99: 10 * p50, retries: 0 },
    rails: [
      { byteLength: 1000, slices: 1, repeats: 0, retries: failures, failures },
      { byteLength: 2000, slices: 2, repeats: 1, retries: 0, failures: 0 },
    ],
  });
  const done = [1, 2, 9].map((p50, i) => ({ report: report(p50 / 1000, i), seconds: 0.001 }));
  const row = rowOf(3000, done, ['first', 'second']);
  expect(row).toMatchObject({
    ...{ size: 3000, iterations: 3, transfersPerIteration: 1 },
    slices: { p50: 2, p99: 20 },
    rails: [
      { name: 'first', bytes: 3000, slices: 3, repeats: 0, retries: 3, failures: 3 },
      { name: 'second', bytes: 6000, slices: 6, repeats: 3, retries: 0, failures: 0 },
    ],
  });
  expect(row.seconds).toBeCloseTo(0.003);
  expect(row.megabytesPerSecond).toBeCloseTo(3);
  expect(row.microsecondsPerTransfer).toBeCloseTo(1000);
  expect(row.nics?.map(({ megabytesPerSecond }) => Math.round(megabytesPerSecond))).toEqual([1, 2]);
});

describe('the timeline', () => {
  test('has the rate of each rail in each interval', () => {
    const timeline = new Timeline(100, [5, 0]);
    timeline.sample(120, [20_005, 0]);
    timeline.sample(160, [20_005, 80_000]);
    expect(timeline.end(170, [30_005, 80_000])).toEqual({
      milliseconds: [20, 60, 70],
      megabytesPerSecond: [
        [1, 0, 1],
        [0, 2, 0],
      ],
    });
  });

  test('leaves out an interval without a length', () => {
    const timeline = new Timeline(0, [0]);
    timeline.sample(10, [10_000]);
    expect(timeline.end(10, [10_000])).toEqual({ milliseconds: [10], megabytesPerSecond: [[1]] });
  });

  test('merges intervals of a long run, and loses no byte', () => {
    const timeline = new Timeline(0, [0]);
    for (let i = 1; i < 5000; i++) timeline.sample(20 * i, [20_000 * i]);
    const { milliseconds, megabytesPerSecond } = timeline.end(100_000, [100_000_000]);
    expect(milliseconds.length).toBeLessThanOrEqual(1001);
    expect(milliseconds.length).toBeGreaterThan(500);
    expect(milliseconds.at(-1)).toBe(100_000);
    expect(new Set(megabytesPerSecond[0])).toEqual(new Set([1]));
  });
});
