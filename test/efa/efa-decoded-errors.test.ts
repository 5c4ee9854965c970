// Errors of promises, batches, streams and calls decode the efa provider's error numbers: name, whether a
// retry may help, and a hint.
import { FabricError, version } from 'libfabric';
import { efaStatus } from 'libfabric/efa';
import { describe, expect, test } from 'vitest';
import { errorOf } from '../../dist/engine/failure.js';
import { pattern } from '../support/bytes.js';
import { testFaults } from '../support/softefa.js';
import { pair } from '../support/transfer.js';

const FLUSHED = 1; // the device's status

const faults = testFaults();

/** The expected members of an error with this status of the device. */
function decoded(number: number) {
  const { name, retryable, hint } = efaStatus(number, version()) ?? {};
  return {
    name: 'FabricError',
    provErrno: number,
    provCode: name,
    retryable,
    hint,
    provMessage: expect.stringMatching(/^(?!Unknown error$)./),
    message: expect.stringMatching(/; .{10}/),
  };
}

// Statuses that the provider reports unchanged, whatever it knows about the peer.
const statuses = [3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 15];

describe.each(statuses)('status %i of the device', (status) => {
  test('fails a send with its name and hint', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG']);
    faults.add('status', { value: status, count: 1 });
    const error = await wire.fails(wire.a.send(pattern(8), wire.toB));
    expect(error).toMatchObject(decoded(status));
    expect((error as Error).message).toContain(efaStatus(status, version())?.hint);
  });

  test('fails a batch with its name and hint', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG']);
    const batch = wire.a.batch();
    batch.send(pattern(8), wire.toB);
    faults.add('status', { value: status, count: 1 });
    expect(await wire.fails(batch.submit())).toMatchObject(decoded(status));
  });
});

test('a write that the target refuses fails with a hint about the region', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const region = await wire.b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
  const remote = wire.a.domain.remote(region.descriptor());
  const flags = ['FI_DELIVERY_COMPLETE'] as const;
  const write = () => wire.a.write(pattern(64), wire.toB, remote, { flags });
  await wire.done(write());
  faults.add('status', { value: 7, count: 1 });
  const error = await wire.fails(write());
  expect(error).toMatchObject({
    provErrno: 7,
    hint: expect.stringContaining('new descriptor of the region'),
  });
});

test('readErrors() and a broken stream report the name and hint of an endpoint error', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  const { a, b, toB } = wire;
  const [, qpn] = /:(\d+):\d+$/.exec(a.av.straddr(a.address)) ?? [];
  const stream = b.messages({ count: 4, size: 64 });
  const first = stream.next();
  // b's handshake with a fails with a status that breaks the endpoint.
  faults.add('status', { value: 2, count: 1, qpn: Number(qpn) });
  await wire.done(Promise.all([a.send(pattern(64), toB), first]));
  const cause = { ...decoded(2), retryable: false };
  expect(await wire.fails(stream.next())).toMatchObject(cause);
  expect(b.receiveQueue.readErrors()).toMatchObject([cause]);
});

test('the hint of a refused registration names the limits', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  // From here on, the provider has registered all the memory that it needs itself.
  await wire.done(Promise.all([wire.a.send(pattern(8), wire.toB), wire.b.recv(pattern(8))]));
  const { domain } = wire.a;
  faults.add('registration', { value: 'FI_ENOMEM', count: 1 });
  const refused = domain.register(new Uint8Array(8 << 20), ['FI_WRITE']);
  await expect(refused).rejects.toMatchObject({
    code: 'FI_ENOMEM',
    syscall: 'fi_mr_reg',
    hint: expect.stringMatching(/ulimit -l.*hugePages/),
  });
});

test('the hint says that a queue pair failed because its completion queue overran', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG'], 'manual');
  const { a, b, toA, toB } = wire;
  for (let i = 0; i < 10; i++) {
    await wire.done(Promise.all([a.send(pattern(8), toB), b.recv(new Uint8Array(8))]));
    await wire.done(Promise.all([b.send(pattern(8), toA), a.recv(new Uint8Array(8))]));
  }
  const overrun = faults.add('cqOverrun', { count: 1 });
  while (overrun.hits === 0) b.domain.progress();
  const batch = b.batch();
  batch.send(pattern(8), toA);
  for (const failing of [() => b.send(pattern(8), toA), () => batch.submit()]) {
    expect(await wire.fails(failing())).toMatchObject({
      provErrno: FLUSHED,
      hint: expect.stringContaining('completion queue overran'),
    });
  }
  await wire.done(b.close({ timeout: 1 }));
});

test('errors of other providers are not decoded as statuses of efa', async (context) => {
  const wire = await pair(context, 'shm', ['FI_MSG']);
  const received = wire.b.recv(new Uint8Array(4));
  const error = await wire.fails(Promise.all([wire.a.send(pattern(8), wire.toB), received]));
  expect(FabricError.is(error) && error.code).toBe('FI_ETRUNC');
  for (const key of ['provCode', 'retryable']) expect(error).not.toHaveProperty(key);
});

test('a receive that close() cancels has no provider error', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  const received = wire.fails(wire.b.recv(new Uint8Array(4)));
  await wire.done(wire.b.close());
  const error = await received;
  expect(error).toMatchObject({ code: 'FI_ECANCELED' });
  expect(error).not.toHaveProperty('provCode');
});

test('errors of the shm provider below efa are not decoded as statuses of the device', () => {
  const failure = { syscall: 'fi_cq_readerr', text: '', provider: 'efa' };
  const refused = errorOf({ ...failure, errno: 1, provErrno: 1 });
  expect(refused.hint).toContain('ptrace_scope');
  expect(refused).not.toHaveProperty('provCode');
  const truncated = errorOf({ ...failure, errno: 14, provErrno: 14 });
  expect(truncated.hint).toContain('FI_EFA_ENABLE_SHM_TRANSFER=0');
});
