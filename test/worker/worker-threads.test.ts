import { describe, test } from 'vitest';
import { casesOf, longCombinations } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { drivers } from '../support/providers.js';

describe.each(longCombinations)('$provider, $driver driver', ({ provider, driver }) => {
  test('the main thread and two workers exchange messages, each with all others', async () => {
    const stdout = '50,50,50\n50,50,50\n50,50,50';
    await runCleanly('lifecycle-workers', [provider, driver, 'exchangeAll'], { stdout });
  });
});

describe.each(casesOf(drivers, (driver) => driver === 'thread'))('%s driver', (driver) => {
  test('the addon can be loaded in a worker first', async () => {
    await runCleanly('lifecycle-workers', ['shm', driver, 'first'], { stdout: 'true' });
  });

  test('workers can load the addon at the same time', async () => {
    await runCleanly('lifecycle-workers', ['shm', driver, 'both'], { stdout: 'true' });
  });
});
