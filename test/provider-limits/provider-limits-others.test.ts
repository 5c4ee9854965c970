// Statements of docs/provider-limits.md about providers over sockets. The name of a test is the statement.
import { getInfo, open, version } from 'libfabric';
import { expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { runInline } from '../support/command.js';
import { available, closing, datagramPair, loopback, pair } from '../support/transfer.js';

const { major, minor } = version();
const SOON = 300;

test('tcp;ofi_rxm drops the connection, and the operations in flight on it, after a truncated receive', async (context) => {
  context.skip(major > 1, 'tcp of libfabric 2 keeps the connection');
  const { a, b, toB } = await pair(context, 'tcp;ofi_rxm', ['FI_MSG']);
  const COUNT = 20;
  const short = 5;
  const options = { timeout: 1000 };
  const receives = Array.from({ length: COUNT }, (_, i) =>
    b.recv(new Uint8Array(i === short ? 10 : 100), null, options).catch(({ code }) => code),
  );
  await Promise.allSettled(receives.map(() => a.send(pattern(100), toB)));
  const outcomes = await Promise.all(receives);
  expect(outcomes.slice(0, short)).toMatchObject(Array(short).fill({ length: 100 }));
  expect(outcomes[short]).toBe('FI_ETRUNC');
  expect(outcomes).toContain('FI_ETIMEDOUT');
});

test('tcp of libfabric 2 reads no more from a peer after 64 messages that match no receive', async (context) => {
  context.skip(major < 2, 'tcp;ofi_rxm of libfabric 1 takes all of them');
  const { a, b, toB } = await pair(context, 'tcp', ['FI_TAGGED']);
  const count = 200;
  const sends = Array.from({ length: count }, () => a.tsend(pattern(8), toB, 1));
  sends.push(a.tsend(pattern(8), toB, 2));
  const later = b.trecv(new Uint8Array(8), null, 2, 0, { timeout: SOON });
  await expect(later).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
  const receives = Array.from({ length: count }, () => b.trecv(new Uint8Array(8), null, 1));
  receives.push(b.trecv(new Uint8Array(8), null, 2));
  await Promise.all([...sends, ...receives]);
});

test('udp;ofi_rxd never completes an empty read', async (context) => {
  const { a, b, toB } = await pair(context, 'udp;ofi_rxd', ['FI_MSG', 'FI_RMA'], 'loop');
  const region = await b.domain.allocate(4096, ['FI_REMOTE_READ']);
  const remote = a.domain.remote(region.descriptor());
  await a.read(new Uint8Array(8), toB, remote);
  const empty = a.read(new Uint8Array(0), toB, remote, { timeout: SOON });
  await expect(empty).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
});

test('udp;ofi_rxd before 2.6 crashes after a few fetching atomics', async (context) => {
  available(context, 'udp;ofi_rxd', ['FI_ATOMIC']);
  const program = `
    import { open } from 'libfabric';
    const options = { provider: 'udp;ofi_rxd', caps: ['FI_RMA', 'FI_ATOMIC'], node: '127.0.0.1' };
    const [a, b] = [await open(options), await open(options)];
    const region = await b.domain.allocate(64, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    const remote = a.domain.remote(region.descriptor());
    const toB = a.av.insert(b.address);
    const types = { datatype: 'FI_UINT64', op: 'FI_SUM' };
    const one = new BigUint64Array([1n]);
    for (let i = 0; i < 10; i++) await a.fetchAtomic(one, new BigUint64Array(1), toB, remote, types);
    process.exit();`;
  const { status } = runInline(program); // null if a signal ended the process
  expect(status === 0).toBe(major > 1 && minor >= 6);
});

test.for([
  ['sockets', undefined],
  ['tcp;ofi_rxm', 7n],
  ['shm', 7n],
] as const)(
  '%s: the remote data of a message that arrives before its receive is %s',
  async ([provider, data], context) => {
    const { a, b, toB } = await pair(context, provider, ['FI_MSG', 'FI_TAGGED'], 'loop');
    await a.senddata(pattern(8), 7n, toB);
    // A later message has arrived, so this one has too.
    await Promise.all([a.tsend(pattern(8), toB, 1n), b.trecv(new Uint8Array(8), null, 1n)]);
    expect((await b.recv(new Uint8Array(8))).data).toBe(data);
  },
);

test.for([
  ['tcp;ofi_rxm', 'FI_EP_RDM', true],
  ['shm', 'FI_EP_RDM', false],
  ['udp;ofi_rxd', 'FI_EP_RDM', false],
  ['udp', 'FI_EP_DGRAM', true],
] as const)(
  '%s, %s: the completion queue is waitable: %s',
  async ([provider, type, waitable], context) => {
    const name = available(context, provider, ['FI_MSG'], type);
    const ep = closing(await open({ provider: name, type, caps: ['FI_MSG'], ...loopback(name) }));
    expect(ep.receiveQueue.waitable).toBe(waitable);
  },
);

test.for(['tcp;ofi_rxm', 'shm'] as const)(
  '%s keeps messages in order without a request',
  async (provider, context) => {
    const provName = available(context, provider, ['FI_MSG']);
    const [info] = getInfo({
      fabricAttr: { provName },
      epAttr: { type: 'FI_EP_RDM' },
      caps: ['FI_MSG'],
    });
    expect(info?.txAttr.msgOrder).toContain('FI_ORDER_SAS');
  },
);

test('tcp;ofi_rxm: an injected write to a closed peer settles', async (context) => {
  const { a, b, toB } = await pair(context, 'tcp;ofi_rxm', ['FI_MSG', 'FI_RMA']);
  const region = await b.domain.allocate(64, ['FI_REMOTE_WRITE']);
  const remote = a.domain.remote(region.descriptor());
  const inject = () => a.injectWrite(pattern(8), toB, remote);
  await inject();
  await b.close();
  const late = Promise.allSettled([inject(), inject(), inject()]);
  await a.close({ timeout: SOON });
  expect((await late).map(({ status }) => status)).toContain('rejected');
});

test.for([
  ['udp', 'is kept'],
  ['efa', 'is dropped'],
] as const)(
  '%s: a datagram that arrives when no receive is posted %s',
  async ([provider, outcome], context) => {
    const wire = await datagramPair(context, provider);
    const { a, b, toA, toB } = wire;
    await a.send(pattern(8), toB);
    // The echo arrives, so the datagram before it has arrived or was dropped.
    const { operations } = a.domain.stats();
    const echo = a.recv(new Uint8Array(8));
    await wire.postedByA(operations + 1);
    await b.send(pattern(8), toA);
    await echo;
    const late = b.recv(new Uint8Array(8), null, { timeout: SOON });
    const kept = await late.then(
      () => 'is kept',
      () => 'is dropped',
    );
    expect(kept).toBe(outcome);
  },
);

test('libfabric and its providers, such as psm, install no signal handlers', () => {
  const program = `
    import { readFileSync } from 'node:fs';
    const caught = () => /^SigCgt:.*$/m.exec(readFileSync('/proc/self/status', 'latin1'))[0];
    const before = caught();
    const { getInfo } = await import('libfabric');
    getInfo();
    console.log(caught() === before, process.env.IPATH_NO_BACKTRACE, process.env.HFI_NO_BACKTRACE);`;
  expect(runInline(program).stdout).toBe('true 1 1\n');
});
