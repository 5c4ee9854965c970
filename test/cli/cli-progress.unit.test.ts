// The line that shows the progress of a long command.
import { expect, test } from 'vitest';
import { durationText, Progress } from '../../dist/cli/shared/progress.js';

const CLEAR = '\r\x1b[K';

/** Returns a Progress with a fake clock and a fake terminal. */
function progressOf(weights: readonly number[], columns = 80) {
  const lines: string[] = [];
  const clock = { seconds: 0 };
  const write = (text: string) => lines.push(text);
  const progress = new Progress(weights, { columns, write }, () => clock.seconds * 1000);
  return { progress, lines, clock };
}

test('the line has the step, the elapsed time, and the remaining time estimated from the weights', () => {
  const { progress, lines, clock } = progressOf([1, 2, 5]);
  progress.next('64 bytes');
  clock.seconds = 10;
  progress.next('4k bytes');
  clock.seconds = 40;
  progress.next('1m bytes');
  progress.end();
  expect(lines).toEqual([
    `${CLEAR}1/3 64 bytes, 0 s`,
    `${CLEAR}2/3 4k bytes, 10 s, about 1 min 10 s left`,
    `${CLEAR}3/3 1m bytes, 40 s, about 1 min 7 s left`,
    CLEAR,
  ]);
});

test('an estimate that is already over is not shown', () => {
  const { progress, lines, clock } = progressOf([1, 0]);
  progress.next('a');
  clock.seconds = 3;
  progress.next('b');
  progress.end();
  expect(lines[1]).toBe(`${CLEAR}2/2 b, 3 s`);
});

test('the line is shorter than the terminal, so that it does not wrap', () => {
  const { progress, lines } = progressOf([1, 1], 20);
  progress.next('a check with a long name');
  progress.end();
  expect(lines[0]).toHaveLength(CLEAR.length + 19);
});

test('a single step shows no progress', () => {
  const { progress, lines } = progressOf([1]);
  progress.next('64 bytes');
  progress.clear();
  progress.end();
  expect(lines).toEqual([]);
});

test.each([
  [400, '0 s'],
  [59_600, '1 min 0 s'],
  [125_000, '2 min 5 s'],
])('%i ms is %s', (milliseconds, text) => {
  expect(durationText(milliseconds)).toBe(text);
});
