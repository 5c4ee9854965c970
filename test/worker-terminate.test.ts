import { describe, test } from 'vitest';
import { DRIVERS, PROVIDERS, runCleanly } from './support/lifecycle.js';

describe.each(PROVIDERS)('%s', (provider) => {
  test.each(DRIVERS)(
    'worker.terminate() with operations in flight, 20 times, leaves the main thread at work: %s driver',
    async (driver) => {
      const expected = { stdout: '20 ended' };
      await runCleanly('lifecycle-workers', [provider, driver, 'terminate'], expected, {
        deadline: 25_000,
      });
    },
  );
});

describe.each(['shm', 'tcp'])('%s', (provider) => {
  test.each(DRIVERS)(
    'the peer of operations in flight ends with its worker: %s driver',
    async (driver) => {
      const expected = { stdout: '5 deserted' };
      await runCleanly('lifecycle-workers', [provider, driver, 'desert'], expected);
    },
  );
});
