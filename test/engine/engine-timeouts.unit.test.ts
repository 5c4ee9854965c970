import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Timeouts } from '../../dist/base/timeouts.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks(); // while timers are faked: later, it would bring the faked ones back, for all files of this process
  vi.useRealTimers();
});

function timeoutsOf(keepsLoop = false) {
  const expired: string[] = [];
  const timeouts = new Timeouts<string>((call) => expired.push(call), keepsLoop);
  return { timeouts, expired };
}

test('each call expires a turn after its time, in whatever order they came, and others do not', () => {
  const { timeouts, expired } = timeoutsOf();
  const times = { c: 300, a: 100, ended: 150, b: 200, too: 100 };
  for (const [name, milliseconds] of Object.entries(times)) timeouts.add(name, milliseconds);
  timeouts.delete('ended');
  vi.advanceTimersByTime(100);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(['a', 'too']);
  vi.advanceTimersByTime(100);
  expect(expired).toEqual(['a', 'too', 'b']);
  vi.advanceTimersByTime(1000);
  expect(expired).toEqual(['a', 'too', 'b', 'c']);
  expect(vi.getTimerCount()).toBe(0);
});

test('calls that end in time share one timer', () => {
  const { timeouts, expired } = timeoutsOf();
  const set = vi.spyOn(globalThis, 'setTimeout');
  for (let i = 0; i < 1000; i++) {
    timeouts.add(`${i}`, 30_000);
    timeouts.delete(`${i}`);
  }
  expect(set).toHaveBeenCalledTimes(1);
  timeouts.add('earlier', 10);
  expect(set).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(60_000);
  expect(expired).toEqual(['earlier']);
  expect(vi.getTimerCount()).toBe(0);
});

test('a call that expires may add others', () => {
  const expired: number[] = [];
  const timeouts = new Timeouts<number>((count) => {
    expired.push(count);
    if (count > 0) timeouts.add(count - 1, 10);
  }, false);
  timeouts.add(3, 10);
  timeouts.add(100, 1000);
  vi.advanceTimersByTime(50);
  expect(expired).toEqual([3, 2, 1, 0]);
  timeouts.close();
  vi.advanceTimersByTime(2000);
  expect(expired.length).toBe(4);
  expect(vi.getTimerCount()).toBe(0);
});

test('the timer keeps the event loop alive only while a call may expire', () => {
  vi.useRealTimers();
  const { timeouts } = timeoutsOf(true);
  const held = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
  const before = held();
  timeouts.add('a', 60_000);
  expect(held()).toBe(before + 1);
  timeouts.delete('a');
  expect(held()).toBe(before);
  timeouts.add('b', 60_001);
  expect(held()).toBe(before + 1);
  timeouts.keepLoop(false);
  expect(held()).toBe(before);
  timeouts.keepLoop(true);
  expect(held()).toBe(before + 1);
  timeouts.close();
  expect(held()).toBe(before);
});
