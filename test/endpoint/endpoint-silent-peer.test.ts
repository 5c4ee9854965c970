// The error of an operation that times out names the peer. If no operation with it has succeeded, it says what to
// check.
import { createServer } from 'node:net';
import { type DriverKind, type FabricError, open } from 'libfabric';
import { describe, expect, onTestFinished, test } from 'vitest';
import { combinations } from '../support/cases.js';
import { sendsEarly } from '../support/lifecycle.js';
import { HANG_MS } from '../support/limits.js';
import { settle } from '../support/settle.js';
import { closing, loopback } from '../support/transfer.js';

const HINT = 'no operation with this peer has succeeded yet: is it running,';
const LARGE = 1 << 20;

const opened = async (provider: string, driver: DriverKind) =>
  closing(await open({ provider, driver, caps: ['FI_MSG'], ...loopback(provider) }));

/**
 * The error of an operation that times out. The first one need not have the hint: the promise rejects soon,
 * even if the engine's thread has had no time to report its state.
 */
async function errorOf(
  operation: () => Promise<unknown>,
  isWanted: (error: FabricError) => boolean,
): Promise<FabricError> {
  for (const end = performance.now() + HANG_MS; ; ) {
    const error = await operation().then(
      () => expect.unreachable('the operation has succeeded'),
      (each: FabricError) => each,
    );
    if (isWanted(error) || performance.now() > end) return error;
  }
}

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  test.skipIf(sendsEarly(provider))('a peer that has never answered', async () => {
    const ep = await opened(provider, driver);
    const silent = await opened(provider, 'manual'); // it answers only when it is turned
    const peer = ep.av.insert(silent.address);
    const send = () => settle(ep.send(new Uint8Array(LARGE), peer, { timeout: 30 }), ep.domain);
    const error = await errorOf(send, ({ hint }) => hint !== undefined);
    expect(error).toMatchObject({
      code: 'FI_ETIMEDOUT',
      peer,
      hint: expect.stringContaining(HINT),
      message: expect.stringContaining(`(not completed after 30 ms); ${HINT}`),
    });
    await settle(ep.close({ timeout: 100 }), ep.domain, silent.domain);
  });

  test.skipIf(sendsEarly(provider))('a peer that has answered before', async () => {
    const ep = await opened(provider, driver);
    const silent = await opened(provider, 'manual');
    const peer = ep.av.insert(silent.address);
    const received = silent.recv(new Uint8Array(8));
    await settle(
      Promise.all([ep.send(new Uint8Array(8), peer), received]),
      ep.domain,
      silent.domain,
    );
    const send = () => settle(ep.send(new Uint8Array(LARGE), peer, { timeout: 30 }), ep.domain);
    const error = await errorOf(send, (each) => each.peer !== undefined);
    expect(error).toMatchObject({ code: 'FI_ETIMEDOUT', peer });
    expect(error.hint).toBeUndefined();
    await settle(ep.close({ timeout: 100 }), ep.domain, silent.domain);
  });

  test('a receive from any peer has no hint', async () => {
    const ep = await opened(provider, driver);
    const error = await settle(ep.recv(new Uint8Array(8), null, { timeout: 20 }), ep.domain).catch(
      (each) => each,
    );
    expect(error.code).toBe('FI_ETIMEDOUT');
    expect(error.hint).toBeUndefined();
    expect(error.peer).toBeUndefined();
  });
});

test('a peer whose operations were in batches has answered', async () => {
  const ep = await opened('shm', 'thread');
  const silent = await opened('shm', 'manual');
  const peer = ep.av.insert(silent.address);
  const received = silent.recv(new Uint8Array(8));
  const batch = ep.batch();
  batch.send(new Uint8Array(8), peer);
  await settle(Promise.all([batch.submit(), received]), silent.domain);
  if (sendsEarly('shm')) return;
  const send = () => ep.send(new Uint8Array(LARGE), peer, { timeout: 30 });
  const error = await errorOf(send, (each) => each.peer !== undefined);
  expect(error.hint).toBeUndefined();
  await settle(ep.close({ timeout: 100 }), silent.domain);
});

test('a TCP port that accepts connections and sends nothing, with the default timeout of the endpoint', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const place = { provider: 'tcp', node: '127.0.0.1' } as const;
  const ep = closing(await open({ ...place, timeout: 50 }));
  const peer = ep.av.insert(`127.0.0.1:${port}`);
  const error = await errorOf(
    () => ep.send(new Uint8Array(8), peer),
    ({ hint }) => hint !== undefined,
  );
  expect(error).toMatchObject({ code: 'FI_ETIMEDOUT', peer, hint: expect.stringContaining(HINT) });
});
