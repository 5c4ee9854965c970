// Endpoints and domains that close() parks: the provider still has an operation in flight because a peer has
// stopped, or has been killed.
import { readdirSync } from 'node:fs';
import { dumpState, open, released, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { until } from '../support/lifecycle.js';
import { pairOfDomain, parkedMessages } from '../support/parked.js';
import { drivers } from '../support/providers.js';
import { testFaults } from '../support/softefa.js';
import { closing } from '../support/transfer.js';

/** ms. Without parking, a close waits until the device times out: 5000. */
const AT_ONCE = 3000;

const faults = testFaults();

describe.each(drivers)('efa, %s driver', (driver) => {
  test('close() resolves within its timeout; the memory stays in use until the operation has ended', async () => {
    const { domain, a, b, toB, done } = await pairOfDomain(driver);
    const parked = parkedMessages();
    b.ep.recv(new Uint8Array(4096)).catch(() => {});
    const region = await domain.allocate(4096, ['FI_SEND', 'FI_RECV']);
    const frozen = faults.add('freeze');
    const sent = a.ep.send(region, toB);
    const refused = expect(sent).rejects.toMatchObject({ code: 'FI_ECANCELED' });
    while (frozen.hits === 0) await done(new Promise(setImmediate));

    await done(a.ep.close({ timeout: 50 }));
    await refused;
    expect(parked).toEqual([{ type: 'endpoint', object: a.ep, operations: 1 }]);
    let isReleased = false;
    const end = released(await sent.catch((error) => error)).then(() => {
      isReleased = true;
    });
    const parkedEndpoints = () =>
      dumpState()
        .domains.at(-1)
        ?.engine?.endpoints.filter(({ left }) => left);
    expect(parkedEndpoints()).toMatchObject([{ inFlight: 1, closing: true, broken: false }]);
    // The objects that the endpoint uses also close at once.
    await done(a.av.remove(toB));
    await done(region.close());
    await a.cq.close();
    await a.av.close();
    expect([a.cq.closed, a.av.closed, region.closed]).toEqual([true, true, true]);
    expect(isReleased).toBe(false);
    expect(dumpState().domains.at(-1)?.pending).toBe(1); // the receive

    frozen.remove();
    await done(end);
    if (driver === 'manual') domain.progress();
    await until(() => parkedEndpoints()?.length === 0);
    await done(domain.close());
    expect(parked).toHaveLength(1);
  });

  test('a domain that closes with a parked endpoint is parked too, and another domain works', async () => {
    const before = dumpState().parked.length;
    const { domain, a, b, toB, done } = await pairOfDomain(driver);
    const parked = parkedMessages();
    const frozen = faults.add('freeze');
    const batch = a.ep.batch();
    batch.send(pattern(64), toB);
    batch.send(pattern(64), toB);
    const submitted = expect(batch.submit()).rejects.toMatchObject({ code: 'FI_ECANCELED' });
    const received = expect(b.ep.recv(new Uint8Array(8))).rejects.toMatchObject({
      code: 'FI_ECANCELED',
    });
    while (frozen.hits === 0) await done(new Promise(setImmediate));
    // The efa endpoint contains an shm endpoint. Its file would be removed in fi_close(3).
    const qkey = new DataView(Uint8Array.from(a.ep.address).buffer).getUint32(20, true);
    const file = `_${qkey.toString(16).padStart(8, '0')}_`;
    const files = () => readdirSync('/dev/shm').filter((name) => name.includes(file));
    expect(files()).toHaveLength(version().major === 1 ? 1 : 0);
    const began = performance.now();
    await done(domain.close({ timeout: 50 }));
    expect(performance.now() - began).toBeLessThan(AT_ONCE);
    expect(files()).toEqual([]);
    await submitted;
    await received;
    // With libfabric 2 each operation of a batch counts, and other endpoints may have operations too.
    const some = version().major === 1 ? 1 : expect.any(Number);
    expect(parked).toContainEqual({ type: 'endpoint', object: a.ep, operations: some });
    expect(parked.at(-1)).toEqual({
      type: 'domain',
      object: domain,
      endpoints: some,
      refused: null,
    });
    expect(dumpState().parked.slice(before)).toMatchObject([
      { provider: 'efa', endpoints: some, refused: null },
    ]);
    frozen.remove();
    const next = await pairOfDomain(driver);
    await next.done(next.domain.close());
  });

  test('a completion queue closes at once, even if its endpoint has operations in flight', async () => {
    const { domain, a, toB, done } = await pairOfDomain(driver);
    const frozen = faults.add('freeze');
    const sent = expect(a.ep.send(pattern(64), toB)).rejects.toMatchObject({
      code: 'FI_ECANCELED',
    });
    const received = expect(a.ep.recv(new Uint8Array(8))).rejects.toMatchObject({
      code: 'FI_ECANCELED',
    });
    while (frozen.hits === 0) await done(new Promise(setImmediate));
    const began = performance.now();
    await a.cq.close();
    expect(performance.now() - began).toBeLessThan(AT_ONCE);
    await sent;
    await received;
    frozen.remove();
    await done(domain.close());
    expect(a.ep.closed).toBe(true);
  });
});

test('tcp: close() parks a domain that the provider refuses to close, and resolves', async () => {
  const openEndpoint = async () =>
    closing(await open({ provider: 'tcp;ofi_rxm', node: '127.0.0.1', caps: ['FI_MSG'] }));
  const sender = await openEndpoint();
  const silent = await openEndpoint();
  const parked = parkedMessages();
  const toSilent = sender.av.insert(silent.address);
  await Promise.all([sender.send(pattern(8), toSilent), silent.recv(new Uint8Array(8))]);
  const { operations } = sender.domain.stats();
  const sent = expect(sender.send(new Uint8Array(1 << 20), toSilent)).rejects.toThrow();
  await until(() => sender.domain.stats().operations > operations);
  await sender.close({ timeout: 50 });
  await sent;
  expect(parked).toEqual([
    { type: 'domain', object: sender.domain, endpoints: 0, refused: 'FI_EBUSY' },
  ]);
  expect(dumpState().parked.at(-1)).toMatchObject({ endpoints: 0, refused: 'FI_EBUSY' });
});
