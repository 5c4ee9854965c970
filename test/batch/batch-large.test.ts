import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { until } from '../support/lifecycle.js';
import { common, drivers } from '../support/providers.js';
import { fabricError, pair } from '../support/transfer.js';

const OPERATIONS = 100_000;

describe.each(common)('%s', (provider) => {
  test.for(drivers)('a batch of 100,000 writes completes, %s driver', async (driver, context) => {
    if (provider !== 'shm') context.skip('takes too long on sockets');
    const wire = await pair(context, provider, ['FI_MSG', 'FI_RMA'], driver);
    const region = await wire.b.domain.allocate(OPERATIONS * 4, ['FI_REMOTE_WRITE']);
    const remote = wire.a.domain.remote(region.descriptor());
    const own = await wire.a.domain.register(pattern(OPERATIONS * 4), ['FI_WRITE']);
    const batch = wire.a.batch();
    for (let i = 0; i < OPERATIONS; i++) {
      batch.write(own.slice(i * 4, (i + 1) * 4), wire.toB, remote, { offset: i * 4 });
    }
    await wire.done(batch.submit());
    // A write may complete before its data has arrived.
    await wire.done(until(() => Buffer.compare(region.bytes, own.bytes) === 0));
    expect(wire.a.domain.stats()).toMatchObject({ operations: OPERATIONS, errors: 0 });
  });

  test('10,000 sends and 10,000 receives keep their order', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG']);
    const count = 10_000;
    const source = Uint32Array.from({ length: count }, (_, i) => i);
    const target = new Uint32Array(count);
    const sending = wire.a.batch();
    const receiving = wire.b.batch();
    for (let i = 0; i < count; i++) {
      sending.send(source.subarray(i, i + 1), wire.toB);
      receiving.recv(target.subarray(i, i + 1));
    }
    await wire.done(Promise.all([receiving.submit(), sending.submit()]));
    expect(Buffer.compare(Buffer.from(target.buffer), Buffer.from(source.buffer))).toBe(0);
  });

  test('run() submits a batch and makes progress until it has completed, without the event loop', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_RMA'], 'manual');
    const { a, toA } = wire;
    const self = a.av.insert(a.address);
    expect(toA).not.toBe(self);
    const region = await a.domain.allocate(64_000, ['FI_REMOTE_WRITE']);
    const remote = a.domain.remote(region.descriptor());
    const source = pattern(64_000);
    const batch = a.batch();
    const flags = ['FI_DELIVERY_COMPLETE'] as const;
    for (let i = 0; i < 1000; i++) {
      batch.write(source.subarray(i * 64, (i + 1) * 64), self, remote, { offset: i * 64, flags });
    }
    for (let round = 0; round < 3; round++) {
      region.bytes.fill(0);
      batch.run();
      expectBytes(region.bytes, source);
    }
    batch.update(5, { remoteOffset: 64_000 });
    expect(() => batch.run()).toThrow(fabricError('FI_EINVAL'));
  });

  test('run() throws at its timeout, and the operations remain in flight', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], 'manual');
    const batch = wire.b.batch();
    const target = new Uint8Array(4);
    batch.recv(target);
    const start = performance.now();
    expect(() => batch.run(50)).toThrow(fabricError('FI_ETIMEDOUT'));
    expect(performance.now() - start).toBeLessThan(2000);
    expect(batch.inFlight).toBe(1);
    await wire.done(wire.a.send(pattern(4), wire.toB));
    while (batch.inFlight > 0) await wire.done(Promise.resolve(wire.b.domain.progress()));
    expectBytes(target, pattern(4));
  });

  test('only the manual driver has run(), domain.wait() and domain.progress()', async (context) => {
    const { a } = await pair(context, provider, ['FI_MSG']);
    const batch = a.batch();
    batch.recv(new Uint8Array(1));
    const refusal = expect.objectContaining({ code: 'ERR_INVALID_STATE' });
    expect(() => batch.run()).toThrow(refusal);
    expect(() => a.domain.wait(1, 1)).toThrow(refusal);
    expect(() => a.domain.progress()).toThrow(refusal);
  });
});
