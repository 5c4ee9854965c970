// unref() and ref() of endpoints and transfer engines: whether a call that waits lets the process end.
import { describe, test } from 'vitest';
import { casesOf, quick, slow } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { PROVIDERS } from '../support/providers.js';

const combinations = casesOf(
  PROVIDERS.flatMap((provider) =>
    (['thread', 'loop'] as const).map((driver) => ({ provider, driver })),
  ),
  ({ provider, driver }) =>
    provider === 'tcp' ? driver === 'loop' : provider === 'efa' && driver === 'thread',
);

const prints = (args: readonly string[], stdout: string) => runCleanly('unref', args, { stdout });

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  test('recv: unref() lets the process end, and ref() does not', async () => {
    await prints([provider, driver, 'ref', 'recv'], 'received');
    await prints([provider, driver, 'unref', 'recv'], 'nothing');
    await prints([provider, driver, 'again', 'recv'], 'received');
  });

  test('close() of an endpoint without a hold on the process ends', async () => {
    await prints([provider, driver, 'unref', 'closing'], 'settled closed');
  });
});

describe.each(['thread', 'loop'])('%s driver', (driver) => {
  test.runIf(driver === 'thread' ? quick : slow)(
    'the endpoints of a domain let the process end if all of them do',
    async () => {
      await prints(['shm', driver, 'first', 'two'], 'received');
      await prints(['shm', driver, 'both', 'two'], 'nothing');
      await prints(['shm', driver, 'closed', 'two'], 'nothing');
    },
  );

  const WAITS = [
    ...['timeout', 'signal', 'batch', 'messages', 'messagesTimeout', 'multiRecv', 'arrived'],
    ...['immediates', 'counter'],
  ];
  const QUICK = ['messagesTimeout', 'counter'];

  test.each(casesOf(WAITS, (waits) => driver === 'thread' && QUICK.includes(waits)))(
    '%s: unref() lets the process end',
    async (waits) => {
      await prints(['tcp', driver, 'ref', waits], 'received');
      await prints(['tcp', driver, 'unref', waits], 'nothing');
    },
  );
});

test('manual driver: unref() lets the process end although a timeout has not elapsed', async () => {
  await prints(['tcp', 'manual', 'ref', 'short'], 'received');
  await prints(['tcp', 'manual', 'unref', 'short'], 'nothing');
  await prints(['tcp', 'manual', 'again', 'short'], 'received');
});

describe.each(casesOf(PROVIDERS, (provider) => provider === 'tcp'))(
  'transfers over %s',
  (provider) => {
    test.for(casesOf(['offer', 'notes', 'barrier'], (waits) => waits === 'offer'))(
      '%s: unref() lets the process end, and ref() does not',
      async (waits) => {
        await prints([provider, 'transfer', 'ref', waits], 'received');
        await prints([provider, 'transfer', 'unref', waits], 'nothing');
        await prints([provider, 'transfer', 'again', waits], 'received');
      },
    );

    test('close() of an engine without a hold on the process ends', async () => {
      await prints([provider, 'transfer', 'ref', 'close'], 'received');
    });
  },
);
