import { describe, test } from 'vitest';
import { DRIVERS, PROVIDERS, runCleanly } from '../support/lifecycle.js';

const combinations = PROVIDERS.flatMap((provider) =>
  DRIVERS.map((driver) => ({ provider, driver })),
);

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  test('the main thread and two workers exchange messages, each with all others', async () => {
    const stdout = '50,50,50\n50,50,50\n50,50,50';
    await runCleanly('lifecycle-workers', [provider, driver, 'exchangeAll'], { stdout });
  });
});

describe.each(DRIVERS)('%s driver', (driver) => {
  test('the addon can be loaded in a worker first', async () => {
    await runCleanly('lifecycle-workers', ['shm', driver, 'first'], { stdout: 'true' });
  });

  test('workers can load the addon at the same time', async () => {
    await runCleanly('lifecycle-workers', ['shm', driver, 'both'], { stdout: 'true' });
  });
});
