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

describe('the peer of operations in flight ends with its worker', () => {
  test.each(DRIVERS)('tcp, %s driver', async (driver) => {
    const expected = { stdout: '5 deserted' };
    await runCleanly('lifecycle-workers', ['tcp', driver, 'desert'], expected);
  });

  test('shm', (context) => {
    context.skip('the shm provider crashes when an endpoint of the same process goes away');
  });
});
