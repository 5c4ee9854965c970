import { type Domain, FabricError, open, released } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { combinations } from '../support/cases.js';
import type { drivers } from '../support/providers.js';
import '../support/softefa.js';
import { isPending, settle } from '../support/settle.js';

const SIZE = 1 << 20;

/** Opens two endpoints and connects them. The second one posts no receive by itself. */
async function openPair(provider: string, driver: (typeof drivers)[number]) {
  const a = await open({ provider, driver, caps: ['FI_MSG', 'FI_TAGGED'] });
  const b = await open({ provider, driver, caps: ['FI_MSG', 'FI_TAGGED'] });
  const domains: Domain[] = [a.domain, b.domain];
  const drive = <T>(promise: Promise<T>) => settle(promise, ...domains);
  const peer = a.av.insert(b.address);
  const received = b.recv(new Uint8Array(8));
  await drive(Promise.all([a.send(new Uint8Array(8), peer), received]));
  return { a, b, peer, drive };
}

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  test('released() of an abandoned send resolves when the send has completed', async ({ skip }) => {
    const { a, b, peer, drive } = await openPair(provider, driver);
    const bytes = new Uint8Array(SIZE).fill(1);
    const { operations } = a.domain.stats();
    const sending = a.tsend(bytes, peer, 1n, { timeout: 20 });
    const error = await drive(sending.catch((reason: unknown) => reason));
    skip(!FabricError.is(error), 'the send completed at once');
    skip(
      a.domain.stats().operations === operations,
      'a busy machine had not posted the send after 20 ms',
    );
    const release = released(sending);
    expect(await isPending(release)).toBe(true);
    expect(await isPending((error as FabricError).released as Promise<void>)).toBe(true);
    // With efa of 2.7 the message does not arrive.
    await drive(b.trecv(new Uint8Array(SIZE), null, 1n).catch(() => {}));
    await drive(release);
    await drive(released(error));
    await (error as FabricError).released;
    await Promise.all([a.close(), b.close()]);
  });

  test('released() of an aborted receive resolves at once', async () => {
    const { a, b, drive } = await openPair(provider, driver);
    const controller = new AbortController();
    const received = b.recv(new Uint8Array(64), null, { signal: controller.signal });
    controller.abort();
    await expect(drive(received)).rejects.toBe(controller.signal.reason);
    await drive(released(received));
    await drive(released(controller.signal.reason));
    await Promise.all([a.close(), b.close()]);
  });

  test('released() of an abort reason resolves when all operations that it aborted are released', async () => {
    const { a, b, peer, drive } = await openPair(provider, driver);
    const controller = new AbortController();
    const { signal } = controller;
    const sends = Array.from({ length: 4 }, (_, i) =>
      a.tsend(new Uint8Array(SIZE), peer, BigInt(i), { signal }),
    );
    const batch = a.batch();
    batch.tsend(new Uint8Array(SIZE), peer, 4n);
    const submitted = batch.submit({ signal });
    setImmediate(() => controller.abort());
    await drive(Promise.allSettled([...sends, submitted]));
    const release = released(signal.reason);
    // Posted sends arrive; queued ones were cancelled.
    const arriving = Array.from({ length: 5 }, (_, i) =>
      b.trecv(new Uint8Array(SIZE), null, BigInt(i), 0n, { timeout: 1000 }).catch(() => {}),
    );
    await drive(Promise.all([release, ...[...sends, submitted].map(released)]));
    expect(batch.inFlight).toBe(0);
    await drive(Promise.all(arriving));
    await Promise.all([a.close(), b.close()]);
  });
});

test('an abandoned operation is released when its endpoint closes', async () => {
  const { a, b, peer } = await openPair('shm', 'thread');
  const sending = a.tsend(new Uint8Array(SIZE), peer, 1n, { timeout: 20 });
  await sending.catch(() => {});
  await a.close({ timeout: 0 });
  await released(sending);
  await b.close();
});

test('an operation that was not abandoned is released when its promise settles', async () => {
  const { a, b, peer } = await openPair('shm', 'thread');
  const received = b.recv(new Uint8Array(8), null, { timeout: 5000 });
  await a.send(new Uint8Array(8), peer);
  await released(received);
  await released(new Error('unrelated'));
  await expect(released('text')).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
  const failing = a.send(new Uint8Array(8), null as never);
  await released(failing);
  await expect(failing).rejects.toThrow(/peer must be/);
  await Promise.all([a.close(), b.close()]);
});
