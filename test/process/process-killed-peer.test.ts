import { describe, test } from 'vitest';
import { casesOf, processCombinations } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';

// In the tier `quick`, the operations of each provider.
const IN_FLIGHT = new Map([
  ['shm', 'receives'],
  ['tcp', 'sends'],
  ['efa', 'writes'],
]);

describe.each(processCombinations)('$provider, $driver driver: the peer is killed', (which) => {
  test.for(
    casesOf(['receives', 'sends', 'writes'], (kind) => IN_FLIGHT.get(which.provider) === kind),
  )(
    'while %s are in flight: all settle, close() resolves, and other peers are not affected',
    async (what) => {
      const args = [which.provider, which.driver, what];
      await runCleanly('lifecycle-killed-peer', args, { stdout: 'true true' });
    },
  );
});
