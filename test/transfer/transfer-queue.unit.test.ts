import { expect, test } from 'vitest';
import { Queue } from '../../dist/transfer/admission.js';

test('waiting transfers start in the order of their priorities, and then of their calls', () => {
  const queue = new Queue(1);
  const started: string[] = [];
  const enter = (priority: 'high' | 'normal' | 'low', name: string) => {
    const transfer = { begin: () => started.push(name), lost() {}, memoryClosed() {} };
    queue.at(priority).enter(transfer);
    return () => queue.at(priority).cancel(transfer);
  };
  enter('low', 'first');
  enter('low', 'low 1');
  const forget = enter('normal', 'forgotten');
  enter('normal', 'normal 1');
  enter('high', 'high 1');
  enter('normal', 'normal 2');
  forget();
  expect(queue).toMatchObject({ running: 1, waiting: 4 });
  const leave = () => queue.at('normal').leave();
  leave();
  enter('high', 'high 2');
  while (queue.running > 0) leave();
  expect(started).toEqual(['first', 'high 1', 'high 2', 'normal 1', 'normal 2', 'low 1']);
  enter('normal', 'later');
  expect(started.at(-1)).toBe('later');
});

test('a queue that was empty accepts more transfers', () => {
  const queue = new Queue(1);
  const enter = (begin: () => void) =>
    queue.at('normal').enter({ begin, lost() {}, memoryClosed() {} });
  const leave = () => queue.at('normal').leave();
  const started: number[] = [];
  enter(() => {});
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 3; i++) enter(() => started.push(3 * round + i));
    for (let i = 0; i < 3; i++) leave();
  }
  expect(started).toEqual(Array.from({ length: 15 }, (_, i) => i));
});

test('no more than `most` run, whatever ends meanwhile', () => {
  const queue = new Queue(2);
  const enter = (begin: () => void) =>
    queue.at('normal').enter({ begin, lost() {}, memoryClosed() {} });
  const leave = () => queue.at('normal').leave();
  let most = 0;
  const start = (fails: boolean) => () => {
    most = Math.max(most, queue.running);
    if (fails) leave();
  };
  for (let i = 0; i < 1000; i++) enter(start(i % 3 === 0));
  while (queue.running > 0) leave();
  expect([most, queue.waiting]).toEqual([2, 0]);
});

test('a million waiting transfers that cannot start end one after the other', () => {
  const queue = new Queue(1);
  const enter = (begin: () => void) =>
    queue.at('normal').enter({ begin, lost() {}, memoryClosed() {} });
  const leave = () => queue.at('normal').leave();
  const count = 1_000_000; // if each looked for the next one from the start, this would take minutes
  let started = 0;
  enter(() => {});
  for (let i = 0; i < count; i++) {
    enter(() => {
      started += 1;
      leave();
    });
  }
  leave();
  expect([started, queue.running, queue.waiting]).toEqual([count, 0, 0]);
});
