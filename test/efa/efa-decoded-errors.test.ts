// What the efa provider's error numbers become where a caller meets them: the name, whether it is worth
// trying again, and what helps, on promises, batches, streams and calls.
import { efaStatus, FabricError, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { errorOf } from '../../dist/engine/failure.js';
import { testFaults } from '../support/softefa.js';
import { pair, pattern } from '../support/transfer.js';

const faults = testFaults();

/** What an error looks like that the device's status has caused. */
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

// Statuses that the provider hands on as they are, whatever it knows of the peer.
const statuses = [3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 15];

describe.each(statuses)('status %i of the device', (status) => {
  test('fails a send with its name and what helps', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG']);
    faults.add('status', { value: status, count: 1 });
    const error = await wire.fails(wire.a.send(pattern(8), wire.toB));
    expect(error).toMatchObject(decoded(status));
    expect((error as Error).message).toContain(efaStatus(status, version())?.hint);
  });

  test('fails a batch likewise', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG']);
    const batch = wire.a.batch();
    batch.send(pattern(8), wire.toB);
    faults.add('status', { value: status, count: 1 });
    expect(await wire.fails(batch.submit())).toMatchObject(decoded(status));
  });
});

test('a write fails with what to do about the region', async (context) => {
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

test('what an endpoint tells of itself, and the stream that it breaks, say what helps', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  const { a, b, toB } = wire;
  const [, qpn] = /:(\d+):\d+$/.exec(a.av.straddr(a.address)) ?? [];
  const stream = b.messages({ count: 4, size: 64 });
  const first = stream.next();
  // What fails is b's greeting of a, with what no endpoint survives.
  faults.add('status', { value: 2, count: 1, qpn: Number(qpn) });
  await wire.done(Promise.all([a.send(pattern(64), toB), first]));
  const cause = { ...decoded(2), retryable: false };
  expect(await wire.fails(stream.next())).toMatchObject(cause);
  expect(b.cq.readErrors()).toMatchObject([cause]);
});

test('a registration that is refused names the limits', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  // The provider has registered what it needs itself.
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

test('a queue pair that failed with its completion queue is named as such', async (context) => {
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
      code: 'FI_EINVAL',
      hint: expect.stringContaining('completion queue overran'),
    });
  }
  await wire.done(b.close({ timeout: 1 }));
});

test('the numbers of other providers are not taken for those of efa', async (context) => {
  const wire = await pair(context, 'shm', ['FI_MSG']);
  const received = wire.b.recv(new Uint8Array(4));
  const error = await wire.fails(Promise.all([wire.a.send(pattern(8), wire.toB), received]));
  expect(FabricError.is(error) && error.code).toBe('FI_ETRUNC');
  for (const key of ['provCode', 'retryable', 'hint']) expect(error).not.toHaveProperty(key);
});

test('a receive that is aborted by close() is none of the provider’s errors', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  const received = wire.fails(wire.b.recv(new Uint8Array(4)));
  await wire.done(wire.b.close());
  const error = await received;
  expect(error).toMatchObject({ code: 'FI_ECANCELED' });
  expect(error).not.toHaveProperty('provCode');
});

test('what the shm provider below efa reports is none of the statuses of the device', () => {
  const failure = { syscall: 'fi_cq_readerr', text: '', provider: 'efa' };
  const refused = errorOf({ ...failure, errno: 1, provErrno: 1 });
  expect(refused.hint).toContain('ptrace_scope');
  expect(refused).not.toHaveProperty('provCode');
  const truncated = errorOf({ ...failure, errno: 14, provErrno: 14 });
  expect(truncated.hint).toContain('FI_EFA_ENABLE_SHM_TRANSFER=0');
});
