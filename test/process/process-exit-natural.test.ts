import { describe, test } from 'vitest';
import { casesOf, quick, slow } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { PROVIDERS } from '../support/providers.js';

// The program calls progress() of the manual driver, so this driver does not keep the event loop alive.
const combinations = casesOf(
  PROVIDERS.flatMap((provider) =>
    (['thread', 'loop'] as const).map((driver) => ({ provider, driver })),
  ),
  ({ provider, driver }) => (provider === 'shm') === (driver === 'loop'),
);

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  const ends = (how: string, stdout: string) =>
    runCleanly('lifecycle-idle', [provider, driver, how], { stdout });

  test('an open endpoint without pending operations lets the process end', async () => {
    await ends('idle', 'idle');
    await ends('done', 'done');
  });

  test('a pending receive keeps the process alive', async () => {
    await ends('pending', 'received');
  });

  if (slow)
    test('messages() keeps the process alive until the stream ends', async () => {
      await ends('messages', 'received');
    });

  test.runIf(provider === 'efa' ? quick : slow)(
    'cancelled, aborted and refused operations do not keep the process alive',
    async () => {
      await ends('closedQueue', 'FI_ECANCELED,FI_ECANCELED');
      await ends('immediates', 'ended');
      await ends('refused', 'ERR_INVALID_STATE ERR_INVALID_ARG_TYPE');
      await ends('aborted', 'no longer wanted');
      await ends('closed', 'closed');
    },
  );
});

test('a closed counter does not keep the process alive', async () => {
  await runCleanly('lifecycle-idle', ['shm', 'thread', 'counter'], { stdout: 'FI_ECANCELED' });
});

test('an idle endpoint of the manual driver lets the process end', async () => {
  await runCleanly('lifecycle-idle', ['shm', 'manual', 'idle'], { stdout: 'idle' });
});
