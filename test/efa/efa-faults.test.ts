// The efa provider on a device with faults: the caller gets a typed error, or none if the provider recovers.
import { open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { drivers } from '../support/providers.js';
import { testFaults } from '../support/softefa.js';
import { datagramPair, efaError, fabricError, pair } from '../support/transfer.js';

const faults = testFaults();

// The device's statuses: flushed, because the queue pair has failed; no such queue pair.
const FLUSHED = 1;
const UNREACHABLE = 9;

describe.each(drivers)('%s driver', (driver) => {
  test('messages arrive intact and in order if the device reorders and delays packets', async (context) => {
    faults.set({ reorder: 0.3, delay: 0.02 });
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    const targets = Array.from({ length: 200 }, () => new Uint8Array(500));
    const receives = targets.map((target) => wire.b.recv(target));
    const sends = targets.map((_, i) => wire.a.send(pattern(500, i), wire.toB));
    await wire.done(Promise.all([...sends, ...receives]));
    targets.forEach((target, i) => {
      expectBytes(target, pattern(500, i));
    });
  });

  test('a delay affects only operations over its link', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    const elsewhere = faults.add('delay', { node: 7, value: 60_000 });
    const slow = faults.add('delay', { node: 0, nic: 0, value: 50 });
    const target = new Uint8Array(64);
    const received = wire.b.recv(target);
    const begin = performance.now();
    await wire.done(Promise.all([wire.a.send(pattern(64), wire.toB), received]));
    expect(performance.now() - begin).toBeGreaterThanOrEqual(50);
    expectBytes(target, pattern(64));
    expect(slow.hits).toBeGreaterThan(0);
    expect(elsewhere.hits).toBe(0);
  });

  test('messages arrive later if the receiver is not ready', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    const busy = faults.add('rnr', { count: 20 });
    const targets = Array.from({ length: 10 }, () => new Uint8Array(64));
    const receives = targets.map((target) => wire.b.recv(target));
    const sends = targets.map((_, i) => wire.a.send(pattern(64, i), wire.toB));
    await wire.done(Promise.all([...sends, ...receives]));
    expect(busy).toMatchObject({ hits: 20, left: 0 });
    targets.forEach((target, i) => {
      expectBytes(target, pattern(64, i));
    });
  });

  test('a send that the device fails rejects with the status of the device as provErrno', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    const broken = faults.add('status', { value: UNREACHABLE, count: 1 });
    const error = await wire.fails(wire.a.send(new Uint8Array(8), wire.toB));
    expect(error).toEqual(fabricError(efaError(UNREACHABLE)));
    expect(error).toMatchObject({ provErrno: UNREACHABLE, syscall: 'fi_cq_readerr' });
    expect(broken.hits).toBe(1);
  });

  test('a write that the device fails rejects, and the next one arrives', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA'], driver);
    const region = await wire.b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const remote = wire.a.domain.remote(region.descriptor());
    const flags = ['FI_DELIVERY_COMPLETE'] as const;
    const write = (seed: number) => wire.a.write(pattern(64, seed), wire.toB, remote, { flags });
    await wire.done(write(1));
    faults.add('status', { value: UNREACHABLE, count: 1 });
    expect(await wire.fails(write(2))).toEqual(fabricError(efaError(UNREACHABLE)));
    await wire.done(write(3));
    expectBytes(region.bytes.subarray(0, 64), pattern(64, 3));
  });
});

test('a fault of one peer fails the next three sends to it, and none to another peer', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  const other = await pair(context, 'efa', ['FI_MSG']);
  const [, qpn] = /:(\d+):\d+$/.exec(wire.a.av.straddr(wire.b.address)) ?? [];
  const broken = faults.add('status', { value: UNREACHABLE, count: 3, qpn: Number(qpn) });
  for (let i = 0; i < 3; i++) {
    const error = await wire.fails(wire.a.send(new Uint8Array(8), wire.toB));
    expect(error).toMatchObject({ code: efaError(UNREACHABLE), provErrno: UNREACHABLE });
    const received = other.b.recv(new Uint8Array(8));
    await other.done(Promise.all([other.a.send(new Uint8Array(8), other.toB), received]));
  }
  expect(broken).toMatchObject({ hits: 3, left: 0 });
  await wire.done(wire.a.send(new Uint8Array(8), wire.toB));
});

test('allocate() with remote access fails if the device has neither RDMA read nor RDMA write', async (context) => {
  const { b } = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  faults.set({ capabilities: ['RNR_RETRY', 'CQ_WITH_SGID'] });
  const refused = b.domain.allocate(1 << 20, ['FI_REMOTE_READ']);
  await expect(refused).rejects.toEqual(fabricError('FI_EOPNOTSUPP'));
});

test('open() fails if the device refuses to register its memory', async (context) => {
  await pair(context, 'efa', ['FI_MSG']);
  using refused = faults.add('registration', { value: 'FI_ENOMEM' });
  const opening = open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA'] });
  await expect(opening).rejects.toEqual(fabricError('FI_ENOMEM'));
  expect(refused.hits).toBeGreaterThan(0);
});

test('the provider sends messages again that the device drops', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  faults.set({ drop: 300 });
  const target = new Uint8Array(4 << 20);
  const received = wire.b.recv(target);
  await wire.done(Promise.all([wire.a.send(pattern(4 << 20), wire.toB), received]));
  expectBytes(target, pattern(4 << 20));
});

test('a completion queue overrun fails sends from its endpoint and to it', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG'], 'manual');
  const { a, b, toA, toB } = wire;
  const exchangeMessage = async () => {
    await wire.done(Promise.all([a.send(pattern(8), toB), b.recv(new Uint8Array(8))]));
    await wire.done(Promise.all([b.send(pattern(8), toA), a.recv(new Uint8Array(8))]));
  };
  for (let i = 0; i < 10; i++) await exchangeMessage();
  const overrun = faults.add('cqOverrun', { count: 1 });
  while (overrun.hits === 0) b.domain.progress();
  // The device flushes what is posted to a queue pair that it has failed.
  const flushed = { provErrno: FLUSHED };
  expect(await wire.fails(b.send(pattern(8), toA))).toMatchObject(flushed);
  const batch = b.batch();
  batch.send(pattern(8), toA);
  for (const _ of ['first', 'second']) {
    expect(await wire.fails(batch.submit())).toMatchObject(flushed);
  }
  const error = await wire.fails(a.send(pattern(8), toB));
  expect(error).toMatchObject({ code: efaError(UNREACHABLE), provErrno: UNREACHABLE });
  await wire.done(b.close({ timeout: 1 }));
});

test('a registration that the device refuses rejects with its error, and the next succeeds', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const { a, b, toB } = wire;
  // An endpoint registers its receive buffers when it is polled first.
  await wire.done(Promise.all([a.send(pattern(8), toB), b.recv(new Uint8Array(8))]));
  faults.add('registration', { value: 'FI_ENOMEM', count: 1 });
  const memory = new Uint8Array(8 << 20);
  await expect(a.domain.register(memory, ['FI_WRITE'])).rejects.toEqual(fabricError('FI_ENOMEM'));
  const region = await a.domain.register(memory, ['FI_WRITE']);
  expect(region.length).toBe(8 << 20);
  await region.close();
});

test('datagrams that the device drops are lost, and later ones arrive', async (context) => {
  const wire = await datagramPair(context, 'efa');
  let arrived = false;
  const received = wire.b.recv(new Uint8Array(64)).then(() => {
    arrived = true;
  });
  await wire.postedByB(1);
  faults.set({ drop: 1000 });
  for (let i = 0; i < 20; i++) await wire.done(wire.a.send(pattern(64), wire.toB));
  expect(arrived).toBe(false);
  faults.set({ drop: 0 });
  await wire.done(wire.a.send(pattern(64), wire.toB));
  await wire.done(received);
});

test('datagrams that the network duplicates arrive twice, and messages once', async (context) => {
  const datagrams = await datagramPair(context, 'efa');
  const messages = await pair(context, 'efa', ['FI_MSG']);
  const both = [new Uint8Array(64), new Uint8Array(64)];
  const received = Promise.all(both.map((buffer) => datagrams.b.recv(buffer)));
  await datagrams.postedByB(2);
  faults.set({ duplicate: 1000 });
  await datagrams.done(datagrams.a.send(pattern(64), datagrams.toB));
  await datagrams.done(received);
  for (const buffer of both) expectBytes(buffer, pattern(64));

  const [first, second] = [new Uint8Array(64), new Uint8Array(64)];
  const inOrder = Promise.all([messages.b.recv(first), messages.b.recv(second)]);
  for (const seed of [1, 2]) await messages.done(messages.a.send(pattern(64, seed), messages.toB));
  await messages.done(inOrder);
  expectBytes(first, pattern(64, 1));
  expectBytes(second, pattern(64, 2));
});
