// The short form of `npm run suite -- faults calls` and `-- verbs`: the first calls of each kind, each with one error.
import { expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { ownNamespace } from '../support/own-namespace.js';
import { PROVIDERS } from '../support/providers.js';
import { release } from '../support/release.js';
import { environmentOf, optionsOf } from './calls/conditions.mjs';
import { ERRORS } from './calls/errors.mjs';
import { type Failure, type Limits, walk } from './calls/walk.mjs';

const env = environmentOf(ownNamespace('calls'));

async function failuresOf(program: string, provider: string, driver: string, limits: Limits) {
  const failures: Failure[] = [];
  const options = optionsOf(program, provider, driver);
  const { injected } = await walk(program, options, env, limits, (failure) =>
    failures.push(failure),
  );
  return { failures, injected };
}

test.for(
  casesOf<[string, string, string, number]>(
    [
      ['messages', 'shm', 'thread', 1],
      ['messages', 'tcp', 'thread', 4],
      ['rma', 'shm', 'manual', 6],
      ['transfer', 'shm', 'thread', 4],
      ['tagged', 'efa', 'loop', 2],
    ],
    ([, , , most]) => most === 1,
  ),
)(
  'when a call of libfabric fails, the caller of %s over %s gets its error, and nothing is left (%s driver)',
  async ([program, provider, driver, most]) => {
    const { failures, injected } = await failuresOf(program, provider, driver, { most });
    expect(failures).toEqual([]);
    expect(injected).toBeGreaterThan(most);
  },
);

test.for(casesOf(PROVIDERS, (provider) => provider === 'efa'))(
  '%s: a completion queue that can no longer be read ends the operations with its error',
  async (provider) => {
    const only = { kinds: ['read'], first: 3, error: 'FI_EIO' };
    const { failures, injected } = await failuresOf('messages', provider, 'manual', { only });
    expect(failures).toEqual([]);
    expect(injected).toBe(1);
  },
);

test.for(casesOf(['FI_EBUSY', 'FI_EIO'], () => false))(
  'shm: an endpoint that peers of its process could reach is closed again if that fails with %s',
  async (error) => {
    const only = { kinds: ['close'], first: 5, error };
    const { failures, injected } = await failuresOf('messages', 'shm', 'manual', { only });
    expect(failures).toEqual([]);
    expect(injected).toBe(1);
  },
);

test.for(
  casesOf<[string, number, string, string]>(
    [
      ['bind', 1, 'FI_EINVAL', 'an address vector that cannot be bound'],
      ['option', 1, 'FI_EINVAL', 'an address that cannot be read'],
    ],
    () => false,
  ),
)(
  'tcp: the process survives if a call of kind %s, number %i, fails with %s: %s',
  async ([kind, first, error]) => {
    const only = { kinds: [kind], first, error };
    const { failures } = await failuresOf('messages', 'tcp', 'thread', { only });
    expect(failures).toEqual([]);
  },
);

/** The kinds of refused calls that efa does not survive: docs/provider-limits.md. */
function unbearable(): string[] {
  if (release() < 200) return [];
  const ends = ['receive'];
  const hangs = ['query', 'modify', 'addressHandle']; // in fi_enable(3)
  return release() === 203 || release() === 204 ? [...ends, ...hangs] : ends;
}

test.for(
  casesOf<[string, string, number]>(
    [
      ['messages', 'thread', 1],
      ['messages', 'thread', 3],
      ['rma', 'manual', 2],
    ],
    ([, , most]) => most === 1,
  ),
)(
  'when a call of verbs fails, the caller of %s over efa gets an error, and nothing is left (%s driver)',
  async ([program, driver, most]) => {
    const kinds = Object.keys(ERRORS.verbs).filter((kind) => !unbearable().includes(kind));
    const limits = { layer: 'verbs', most, only: { kinds } } as const;
    const { failures, injected } = await failuresOf(program, 'efa', driver, limits);
    expect(failures).toEqual([]);
    expect(injected).toBeGreaterThan(most);
  },
);
