// A receive times out even if part of its message has arrived, from a sender that has stopped.
import { open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { drivers } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { testFaults } from '../support/softefa.js';
import { closing, loopback } from '../support/transfer.js';

const faults = testFaults();

const TIMEOUT = 300;
// Without the timeout they would wait forever. A busy machine may be late by a second.
const TOLERANCE = 3000;

/** Returns how late a promise settles. */
async function lateness(promise: Promise<unknown>): Promise<number> {
  const began = performance.now();
  await promise.catch(() => {});
  return performance.now() - began - TIMEOUT;
}

const CASES = [
  ['efa', 2 ** 20],
  ['tcp;ofi_rxm', 2 ** 20],
  ['shm', 2 ** 20],
  ['udp;ofi_rxd', 2 ** 20],
] as const;

describe.each(CASES)('%s, %i bytes', (provider, size) => {
  test.each(drivers)(
    '%s driver: recv, batch and close() settle within their timeouts',
    async (driver) => {
      // Without RDMA read of the device, the receiver of a long message requests its parts from the sender.
      faults.set({ capabilities: [] });
      const caps = ['FI_MSG'] as const;
      const openEndpoint = async (kind: (typeof drivers)[number]) =>
        closing(await open({ provider, driver: kind, caps, ...loopback(provider) }));
      // The sender makes no progress after it has begun its message, like a stopped process.
      const sender = await openEndpoint('manual');
      const receiver = await openEndpoint(driver);
      const both = <T>(promise: Promise<T>) => settle(promise, sender.domain, receiver.domain);
      const toReceiver = sender.av.insert(receiver.address);
      receiver.av.insert(sender.address);
      await both(
        Promise.all([sender.send(new Uint8Array(8), toReceiver), receiver.recv(new Uint8Array(8))]),
      );
      const { operations } = receiver.domain.stats();
      const received = receiver.recv(new Uint8Array(size), null, { timeout: TIMEOUT });
      const batch = receiver.batch();
      batch.recv(new Uint8Array(size));
      const submitted = batch.submit({ timeout: TIMEOUT });
      const late = Promise.all([lateness(received), lateness(submitted)]);
      while (receiver.domain.stats().operations < operations + 2) {
        if (driver === 'manual') receiver.domain.progress();
        await new Promise(setImmediate);
      }
      const sent = [1, 2].map(() => sender.send(new Uint8Array(size), toReceiver).catch(() => {}));
      sender.domain.progress();

      for (const each of await settle(late, receiver.domain)) expect(each).toBeLessThan(TOLERANCE);
      const began = performance.now();
      await settle(receiver.close({ timeout: 100 }), receiver.domain);
      expect(performance.now() - began).toBeLessThan(TOLERANCE);
      await both(sender.close({ timeout: 100 }));
      await Promise.all(sent);
    },
  );
});

test.each(['shm', 'tcp;ofi_rxm'])(
  '%s, manual driver: the timeout ends a receive without progress calls',
  async (provider) => {
    const ep = closing(await open({ provider, driver: 'manual', ...loopback(provider) }));
    const received = ep.recv(new Uint8Array(8), null, { timeout: TIMEOUT });
    const late = lateness(received);
    await expect(received).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
    expect(await late).toBeLessThan(TOLERANCE);
  },
);
