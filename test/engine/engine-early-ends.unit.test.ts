// Requests that a timeout or a signal ends early.
import { afterEach, expect, test, vi } from 'vitest';
import { EarlyEnds } from '../../src/engine/early-ends.js';
import { Kind, Requests } from '../../src/engine/requests.js';

afterEach(() => void vi.useRealTimers());

test.each([
  ['its driver', undefined],
  ['its caller', () => {}],
])(
  'the next request with a number keeps its own time, where %s turns the engine',
  async (_, turn) => {
    vi.useFakeTimers();
    const requests = new Requests();
    const cancelled: number[] = [];
    const ends = new EarlyEnds(requests, (request) => void cancelled.push(request), turn);
    const grace = turn === undefined ? 1000 : 25;
    const receive = (timeout: number) => {
      const request = requests.begin(Kind.Completion, undefined);
      const promise = requests.promise<unknown>(request);
      ends.limit(request, promise, { signal: undefined, timeout }, 'fi_cq_read');
      return { request, promise };
    };
    const first = receive(10);
    vi.advanceTimersByTime(11); // the limit, and the turn in which the loop polls
    ends.forget(first.request);
    requests.resolve(first.request, 'first');
    requests.end(first.request);

    const second = receive(grace - 5);
    expect(second.request).toBe(first.request);
    vi.advanceTimersByTime(grace); // past the end of the first one's grace period
    expect(cancelled).toEqual([first.request, second.request]);
    expect(requests.awaited(second.request)).toBe(true);
    requests.resolve(second.request, 'second');
    expect(await Promise.all([first.promise, second.promise])).toEqual(['first', 'second']);
  },
);
