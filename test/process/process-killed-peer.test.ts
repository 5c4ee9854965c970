import { describe, test } from 'vitest';
import { processCombinations } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';

describe.each(processCombinations)('$provider, $driver driver: the peer is killed', (which) => {
  test.for(['receives', 'sends', 'writes'])(
    'while %s are in flight: all settle, close() resolves, and other peers are not affected',
    async (what) => {
      const args = [which.provider, which.driver, what];
      await runCleanly('lifecycle-killed-peer', args, { stdout: 'true true' });
    },
  );
});
