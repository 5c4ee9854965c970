// What sockets of libfabric/net cost: nothing when they have closed, and little while they are idle.
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { runProgram } from '../support/lifecycle.js';

const KIB = 1024;

async function measure(options: object, what: string): Promise<Record<string, number>> {
  const outcome = await runProgram('net-sockets', [JSON.stringify(options), what], {
    node: ['--expose-gc'],
  });
  expect(outcome, JSON.stringify(outcome)).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(outcome.stdout);
}

const CASES: [string, object][] = [
  ['over shm', { provider: 'shm' }],
  ['over shm, loop driver', { provider: 'shm', driver: 'loop' }],
  ['without a fabric', {}],
];

describe.each(casesOf(CASES, ([name]) => name === 'over shm'))('%s', (_name, options) => {
  test('10,000 sockets of one session, one after the other, leave nothing', async () => {
    const { sessions, open, rss, heapUsed } = await measure(options, 'in turn');
    expect([sessions, open]).toEqual([2, 0]);
    expect(heapUsed).toBeLessThan(1024 * KIB);
    expect(rss).toBeLessThan(24 * 1024 * KIB); // less than 1.2 KiB a side
  });

  test('an idle socket costs at most 12 KiB', async () => {
    const { rss, heapUsed } = await measure(options, 'idle');
    expect(rss).toBeLessThan(12 * KIB);
    expect(heapUsed).toBeLessThan(4 * KIB);
  });
});
