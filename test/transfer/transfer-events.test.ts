// The fallback on a machine without an EFA, such as a laptop.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { enginePair } from '../support/engines.js';
import { hasRdmaDevice } from '../support/fake-sysfs.js';

const tcp = { provider: 'tcp', node: '127.0.0.1' };

test.skipIf(hasRdmaDevice())('a fallback is a warning, an event and a message', async () => {
  const published: unknown[] = [];
  const listener = (message: unknown) => published.push(message);
  subscribe('libfabric:fallback', listener);
  onTestFinished(() => {
    unsubscribe('libfabric:fallback', listener);
  });
  const warned = once(process, 'warning');
  const engine = await TransferEngine.open();
  onTestFinished(() => engine.close());
  const [{ name, message }] = await warned;
  expect(name).toBe('LibfabricWarning');
  expect(message).toBe('no EFA device: the transfer engine uses tcp');
  const event = { type: 'fallback', provider: 'tcp' };
  expect(published).toEqual([{ ...event, engine }]);
  for (const events of [engine.events(), engine.events()]) {
    expect(await events.next()).toEqual({ value: event, done: false });
    await events.return?.();
    expect(await events.next()).toEqual({ value: undefined, done: true });
  }
  expect(engine.rails[0]).toMatchObject({ path: 'sockets', emulated: true });
});

test('an engine with a provider of its own has not fallen back', async () => {
  const { a } = await enginePair(tcp);
  const events = a.events();
  await a.close();
  expect(await events.next()).toEqual({ value: undefined, done: true });
});
