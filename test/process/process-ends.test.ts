// The short form of `npm run suite -- ends`: 18 rounds. `npm test` runs the first 6.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  ACTIONS,
  CYCLE,
  DRIVERS,
  EVENTS,
  MOMENTS,
  PROVIDERS,
  planOf,
  type Round,
  roundOf,
} from '../ends/plan.mjs';
import { tier } from '../support/cases.js';
import { outputOf } from '../support/output.js';
import { seed } from '../support/seed.js';

const ROUNDS = tier === 'quick' ? 2 : 6; // for each provider

const main = fileURLToPath(new URL('../ends/main.mjs', import.meta.url));

test.for(PROVIDERS)(
  `a process continues when its peer ends at any moment: ${ROUNDS} rounds over %s`,
  async (provider, { signal }) => {
    const args = [main, '--provider', provider, '--rounds', String(ROUNDS), '--seed', String(seed)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
    child.on('error', () => {}); // when the test is ended
    const { code, stdout, stderr } = await outputOf(child);
    expect(code, stdout + stderr).toBe(0);
  },
);

describe('the plan', () => {
  type Part = 'provider' | 'driver' | 'event' | 'action' | 'moment';
  const combinations = (rounds: number, ...parts: Part[]) =>
    new Set(planOf('7', rounds).map((round) => parts.map((part) => round[part]).join())).size;
  const [P, D, E, A, M] = [PROVIDERS, DRIVERS, EVENTS, ACTIONS, MOMENTS].map((all) => all.length);

  test('1,000 rounds have every combination of provider, driver, event and action', () => {
    expect(combinations(1000, 'provider', 'driver', 'event', 'action')).toBe(P! * D! * E! * A!);
    expect(combinations(1000, 'provider', 'event', 'action', 'moment')).toBe(P! * E! * A! * M!);
    expect(combinations(1000, 'provider', 'driver', 'action', 'moment')).toBe(P! * D! * A! * M!);
  });

  test('a cycle of each provider has every combination once', () => {
    const rounds = P! * CYCLE;
    expect(combinations(rounds, 'provider', 'driver', 'event', 'action', 'moment')).toBe(rounds);
  });

  test('60 rounds have every driver and provider with every event, and every action at every moment', () => {
    expect(combinations(60, 'driver', 'event')).toBe(D! * E!);
    expect(combinations(60, 'provider', 'event')).toBe(P! * E!);
    expect(combinations(60, 'action', 'moment')).toBe(A! * M!);
  });

  test('a round depends only on the seed, the provider and its number', () => {
    const times = (round: Round) => [round.turns, round.microseconds];
    expect(roundOf('7', 'tcp', 17)).toEqual(roundOf('7', 'tcp', 17));
    expect(planOf('7', 500, ['shm', 'tcp'])[35]).toEqual(roundOf('7', 'tcp', 17));
    expect(times(roundOf('7', 'tcp', 17))).not.toEqual(times(roundOf('8', 'tcp', 17)));
  });
});
