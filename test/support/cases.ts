// The cases that a test runs with, such as combinations of providers and drivers. `npm test` is the tier `quick`: each provider, and
// each driver. `npm run suite -- slow` runs all others, and the files *.slow.test.ts. The tier `all` is both.
//
// vitest.config.ts finds the files of the tier `slow` by their import of this module.
import { common, drivers, PROVIDERS, reliable } from './providers.js';

export type Tier = 'quick' | 'slow' | 'all';

export const tier = (process.env.LIBFABRIC_TESTS ?? 'quick') as Tier;

/** Whether tests that are not for a combination run. They run in one of the tiers only. */
export const quick = tier !== 'slow';
/** Whether tests run that repeat others with more rounds or conditions. */
export const slow = tier !== 'quick';

/** The cases of this tier. */
export const casesOf = <T>(all: readonly T[], isQuick: (each: T) => boolean): T[] =>
  all.filter((each) => (isQuick(each) ? quick : slow));

const withDrivers = <P extends string>(providers: readonly P[]) =>
  providers.flatMap((provider) => drivers.map((driver) => ({ provider, driver })));

// The driver of each provider in the tier `quick`.
const QUICK_DRIVERS = new Map([
  ['efa', 'thread'],
  ['shm', 'loop'],
  ['tcp', 'manual'],
  ['tcp;ofi_rxm', 'manual'],
]);

/** Quick: each provider once, and each driver once. */
export const isQuick = ({ provider, driver }: { provider: string; driver: string }): boolean =>
  QUICK_DRIVERS.get(provider) === driver;

const allCombinations = withDrivers(PROVIDERS);

/** Every driver on efa, shm and tcp: `{ provider, driver }`. */
export const combinations = casesOf(allCombinations, isQuick);

/** The same, for tests that start processes. Quick: each provider and each driver once. */
export const processCombinations = casesOf(
  allCombinations,
  ({ provider, driver }) => PROVIDERS.indexOf(provider) === drivers.indexOf(driver),
);

/** The same, for tests that start several processes each. Quick: one of them. */
export const longCombinations = casesOf(
  allCombinations,
  ({ provider, driver }) => provider === 'efa' && driver === 'thread',
);

/** Every driver on the common providers: `[provider, driver]`. */
export const onCommon = casesOf(withDrivers(common), isQuick).map(
  ({ provider, driver }) => [provider, driver] as const,
);

/** Every driver on the common providers, the loop on the others: `[provider, driver]`. Quick: one of the others. */
export const everywhere = [
  ...onCommon,
  ...casesOf(reliable.slice(common.length), (provider) => provider === 'udp;ofi_rxd').map(
    (provider) => [provider, 'loop'] as const,
  ),
];
