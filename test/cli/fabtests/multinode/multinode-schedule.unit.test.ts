import { describe, expect, test } from 'vitest';
import { schedule, tournament } from '../../../../dist/cli/fabtests/multinode/schedule.js';

const key = (a: number, b: number) => `${Math.min(a, b)}-${Math.max(a, b)}`;

describe.each([2, 3, 4, 5, 8, 17])('%i ranks', (ranks) => {
  test('are paired once with each other, at most once per round, in the fewest rounds', () => {
    const rounds = tournament(ranks);
    expect(rounds.length).toBe(ranks % 2 === 0 ? ranks - 1 : ranks);
    for (const round of rounds) {
      const busy = round.flatMap(({ from, to }) => [from, to]);
      expect(new Set(busy).size).toBe(busy.length);
      expect(busy.every((rank) => rank >= 0 && rank < ranks)).toBe(true);
    }
    const pairs = rounds.flat().map(({ from, to }) => key(from, to));
    expect(pairs.length).toBe((ranks * (ranks - 1)) / 2);
    expect(new Set(pairs).size).toBe(pairs.length);
  });

  test('every ordered pair runs once, concurrently or with one pair per round', () => {
    const both = schedule(ranks, true, true).flat();
    expect(new Set(both.map(({ from, to }) => `${from} ${to}`)).size).toBe(ranks * (ranks - 1));
    expect(both.length).toBe(ranks * (ranks - 1));
    const alone = schedule(ranks, false, true);
    expect(alone.every((round) => round.length === 1)).toBe(true);
    expect(alone.length).toBe(ranks * (ranks - 1));
  });
});

test('one rank has no pairs', () => {
  expect(schedule(1, false, true)).toEqual([]);
});
