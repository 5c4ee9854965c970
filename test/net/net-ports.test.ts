// The endpoints that sessions share.
import { open } from 'libfabric';
import { expect, onTestFinished, test } from 'vitest';
import { Port } from '../../dist/net/port.js';
import { casesOf } from '../support/cases.js';
import { runProgram } from '../support/lifecycle.js';

// An endpoint has room for 128 sessions.
test.each(
  casesOf(
    [
      ['shm', 150],
      ['shm', 1000],
      ['efa', 300],
      ['tcp', 300],
    ] as const,
    ([, count]) => count === 150,
  ),
)('endpoints are added as sessions come: %s, %i sessions', async (provider, count) => {
  const outcome = await runProgram('net-many-sessions', [provider, count]);
  const stdout = `${count} over ${provider === 'tcp' ? 'tcp;ofi_rxm' : provider}, ${count} right\n`;
  expect(outcome, JSON.stringify(outcome)).toMatchObject({ code: 0, stdout });
});

test('sessions of one thread share an endpoint, which closes with the last', async () => {
  const first = await Port.take({ provider: 'shm' });
  const second = await Port.take({ provider: 'shm' });
  expect(second).toBe(first);
  first.release();
  const third = await Port.take({ provider: 'shm' });
  expect(third).toBe(first);
  second.release();
  third.release();
  const fourth = await Port.take({ provider: 'shm' });
  onTestFinished(() => fourth.release());
  expect(fourth).not.toBe(first);
});

test('an endpoint that has met 100 peers of its host is replaced for the next session', async () => {
  const port = await Port.take({ provider: 'shm' });
  onTestFinished(() => port.release());
  for (let i = 0; i < 100; i++) {
    expect(await samePort(port)).toBe(true);
    await using endpoint = await open({ provider: 'shm', caps: ['FI_MSG'], driver: 'manual' });
    const peer = await port.meet(endpoint.address);
    port.forget(peer, endpoint.address);
  }
  expect(await samePort(port)).toBe(false);
});

async function samePort(port: Port): Promise<boolean> {
  const taken = await Port.take({ provider: 'shm' });
  taken.release();
  return taken === port;
}
