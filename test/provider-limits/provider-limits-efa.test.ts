// Statements of docs/provider-limits.md and other documents about efa. The name of a test is the statement.
import '../support/default-queues.js';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type AnyInfo, type FabricError, getInfo, getParams, open, version } from 'libfabric';
import { expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { runInline } from '../support/command.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/lifecycle.js';
import { nodeVariables, startRanks } from '../support/ranks.js';
import { release } from '../support/release.js';
import { isOldPart, partId, testFaults, withSoftefa } from '../support/softefa.js';
import { closing, endpoint, fabricError, pair } from '../support/transfer.js';

const faults = testFaults();

const { major } = version();
const SOON = 300;
const BAD_ADDRESS = 9;
const REFUSED = 4111;

const entries = (fabric: string): readonly AnyInfo[] =>
  getInfo({ fabricAttr: { provName: 'efa', name: fabric }, epAttr: { type: 'FI_EP_RDM' } });

test('efa delivers nothing more to a peer’s endpoint once a send to it has failed', async (context) => {
  const { a, b, toA, toB } = await pair(context, 'efa', ['FI_MSG']);
  const sendToB = (timeout: number) =>
    Promise.all([a.send(pattern(8), toB), b.recv(new Uint8Array(8), null, { timeout })]);
  const sendToA = () => Promise.all([b.send(pattern(8), toA), a.recv(new Uint8Array(8))]);
  // Completes the handshakes, so that the fault does not affect one of them.
  for (let i = 0; i < 3; i++) {
    await sendToB(5000);
    await sendToA();
  }
  const [, qpn] = /:(\d+):\d+$/.exec(a.av.straddr(b.address)) ?? [];
  faults.add('status', { value: BAD_ADDRESS, count: 1, qpn: Number(qpn) });
  await expect(a.send(pattern(8), toB)).rejects.toMatchObject({ provErrno: BAD_ADDRESS });
  await expect(sendToB(SOON)).rejects.toEqual(fabricError('FI_ETIMEDOUT'));
  await sendToA();
});

test('efa of 1.17 does not report the remote data of a message that arrives before its receive', async (context) => {
  const { a, b, toB } = await pair(context, 'efa', ['FI_MSG', 'FI_TAGGED']);
  const both = Promise.all([b.recv(new Uint8Array(8)), a.senddata(pattern(8), 7n, toB)]);
  expect((await both)[0].data).toBe(7n);
  await a.senddata(pattern(8), 7n, toB);
  await Promise.all([a.tsend(pattern(8), toB, 1n), b.trecv(new Uint8Array(8), null, 1n)]);
  expect((await b.recv(new Uint8Array(8))).data).toBe(major < 2 ? undefined : 7n);
});

test('efa carries 4 bytes of remote data, although 1.17 reports 8; wider data is refused', async (context) => {
  const { a, toB } = await pair(context, 'efa', ['FI_MSG']);
  expect(a.info.domainAttr.cqDataSize).toBe(major < 2 ? 8 : 4);
  await expect(a.senddata(pattern(8), 2n ** 32n, toB)).rejects.toThrow(RangeError);
});

test('efa of 2.6 never completes a write with data from several buffers whose region lacks FI_SEND', async (context) => {
  const { a, b, toB } = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const target = await b.domain.allocate(2 ** 17, ['FI_REMOTE_WRITE']);
  const remote = a.domain.remote(target.descriptor());
  const write = async (access: readonly ('FI_SEND' | 'FI_WRITE')[], timeout?: number) => {
    const region = await a.domain.allocate(2 ** 17, access);
    const halves = [region.slice(0, 2 ** 16), region.slice(2 ** 16)];
    return a.writev(halves, toB, remote, { data: 1, ...(timeout && { timeout }) });
  };
  await write(['FI_WRITE', 'FI_SEND']);
  const outcome = write(['FI_WRITE'], release() === 206 ? SOON : undefined);
  // Emulated writes send the data.
  if (release() < 206 || partId < 0xefa1) await outcome;
  else if (release() === 206) await expect(outcome).rejects.toEqual(fabricError('FI_ETIMEDOUT'));
  else await expect(outcome).rejects.toEqual(fabricError('FI_ECANCELED'));
});

test.each([
  ['crashes the target', {}, false],
  [
    'arrives with FI_EFA_INTER_MIN_READ_WRITE_SIZE',
    { FI_EFA_INTER_MIN_READ_WRITE_SIZE: '2000000000' },
    true,
  ],
] as const)('efa of 1.17 on 0xefa1: a first write of 64 KiB %s', async (_, variables, arrives) => {
  const root = `127.0.0.1:${await freePort()}`;
  const options = ['all-to-all', '--nics', 'all', '--seconds', '0.2', '-S', '65536', '-v'];
  // The ranks connect over the first NIC, so this is the first transfer over the second one.
  const ranks = startRanks([0, 1], (rank) => ({
    args: [...options, '--rank', `${rank}`, '--ranks', '2', '--root', root],
    env: { ...nodeVariables(rank, 2), SOFTEFA_PART_ID: '0xefa1', ...variables },
  }));
  const codes = (await Promise.all(ranks.map((one) => one.ended))).map(({ code }) => code);
  if (major > 1 || arrives) expect(codes).toEqual([0, 0]);
  else expect(codes).toContain(null); // killed by a signal
});

test('efa of 1.17 fails messages of 1 MiB to a peer without RDMA read if the sender has it', async (context) => {
  context.skip(major > 1, 'only libfabric 1.17 fails them');
  context.skip(isOldPart, '1.17 does not use the RDMA of this device');
  const program = `
    import { open } from 'libfabric';
    const ep = await open({ provider: 'efa', caps: ['FI_MSG'] });
    process.send(ep.address);
    process.once('message', (address) => {
      ep.av.insert(address);
      for (let i = 0; i < 2; i++) ep.recv(new Uint8Array(1 << 20)).catch(() => {});
      process.send('ready');
    });`;
  const { a } = await pair(context, 'efa', ['FI_MSG']);
  const env = { ...withSoftefa({ node: 1 }), FI_EFA_USE_DEVICE_RDMA: '0' };
  const execArgv = ['--input-type=module', '-e', program];
  const peer = fork('-', { env, execArgv, serialization: 'advanced' });
  try {
    const [address] = await once(peer, 'message');
    peer.send(a.address);
    await once(peer, 'message');
    const to = a.av.insert(address);
    await a.send(pattern(8), to);
    await a.send(pattern(2 ** 20 - 1), to);
    await expect(a.send(pattern(2 ** 20), to)).rejects.toEqual(fabricError('FI_EOPNOTSUPP'));
  } finally {
    peer.kill('SIGKILL');
  }
});

test.each([
  [73, /^FI_ENOMEM 4112$/, 30_000],
  [110, /^(FI_ETIMEDOUT undefined|FI_ENOMEM 4112)$/, SOON],
  [111, /^done$/, 30_000],
])(
  'efa of 1.17 locks 111 MB for an endpoint: with %i MB, an exchange ends with %s',
  (megabytes, outcome, timeout) => {
    const program = `
    import { open } from 'libfabric';
    // With a thread, the endpoint may fail before its own address is inserted.
    const ep = await open({ provider: 'efa', caps: ['FI_MSG'], driver: 'manual' });
    const self = ep.av.insert(ep.address);
    setInterval(() => ep.domain.progress());
    const timeout = ${timeout};
    const [sent, received] = [
      ep.send(new Uint8Array(8), self, { timeout }), ep.recv(new Uint8Array(8), null, { timeout })];
    const errorText = ({ code, provErrno }) => code + ' ' + provErrno;
    console.log(await Promise.all([sent, received]).then(() => 'done', errorText));
    process.exit();`;
    const { stdout, stderr } = runInline(program, withSoftefa({ memlock: megabytes * 1e6 }));
    if (major < 2) expect(stdout.trim(), stderr).toMatch(outcome);
  },
);

test('completion queues of efa are not waitable; those of efa-direct are', async () => {
  const dgram = closing(await open({ provider: 'efa', type: 'FI_EP_DGRAM' }));
  expect(dgram.receiveQueue.waitable).toBe(false);
  for (const fabric of ['efa', 'efa-direct']) {
    if (entries(fabric).length === 0) continue;
    const ep = closing(await open({ provider: 'efa', fabric, caps: ['FI_MSG'] }));
    const sleeps = fabric === 'efa-direct' && version().minor >= 3;
    expect(ep.receiveQueue.waitable, fabric).toBe(sleeps);
  }
});

test('efa without shm injects up to a packet less its headers', async (context) => {
  const { info } = await endpoint(context, 'efa', ['FI_MSG']);
  expect(info.txAttr.injectSize).toBe(8760);
});

test('efa: a completion queue has room for all operations that one endpoint can have in flight', async (context) => {
  const { receiveQueue: cq, info } = await endpoint(context, 'efa', ['FI_MSG']);
  expect(cq.size).toBe(info.txAttr.size + info.rxAttr.size);
});

test('efa: a write with data arrives at a target that has not inserted the writer', async (context) => {
  const writer = await endpoint(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const target = await endpoint(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const region = await target.domain.allocate(64, ['FI_REMOTE_WRITE']);
  const remote = writer.domain.remote(region.descriptor());
  const arrived = target.receiveQueue.arrived(7n);
  await writer.writedata(pattern(64), 7n, writer.av.insert(target.address), remote);
  await arrived;
});

test('efa of 1.17 reports a refused write to the target, not to the writer', async (context) => {
  context.skip(major > 1, 'the device may do the write');
  const { a, b, toB } = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const region = await b.domain.allocate(64, ['FI_REMOTE_READ']);
  const remote = a.domain.remote(region.descriptor());
  const flags = ['FI_DELIVERY_COMPLETE'] as const;
  const delivered = a.write(pattern(64), toB, remote, { flags, timeout: SOON });
  await expect(delivered).rejects.toEqual(fabricError('FI_ETIMEDOUT'));
  await a.write(pattern(64), toB, remote);
  expect(region.bytes).toEqual(new Uint8Array(64));
  const errors: FabricError[] = [];
  await until(() => errors.push(...b.receiveQueue.readErrors()) > 0);
  expect(errors[0]).toMatchObject({ provErrno: REFUSED });
});

test('efa of 1.17 keeps messages in order by default, later releases do not', () => {
  const orders = entries('efa').map(({ txAttr }) => txAttr.msgOrder.includes('FI_ORDER_SAS'));
  expect(orders).toEqual(orders.map(() => major < 2));
});

test('efa has the variables that docs/performance.md names', () => {
  const names = new Set(getParams().map(({ name }) => name));
  const always = ['TX_SIZE', 'RX_SIZE', 'CQ_SIZE', 'RECVWIN_SIZE', 'ENABLE_SHM_TRANSFER'];
  const more = ['USE_DEVICE_RDMA', 'INTER_MIN_READ_MESSAGE_SIZE', 'INTER_MIN_READ_WRITE_SIZE'];
  const cache = ['MR_CACHE_ENABLE', 'MR_MAX_CACHED_COUNT', 'MR_MAX_CACHED_SIZE', 'FORK_SAFE'];
  for (const name of [...always, ...more, ...cache]) expect(names).toContain(`FI_EFA_${name}`);
  for (const name of ['IFACE', 'USE_HUGE_PAGE']) {
    expect(names.has(`FI_EFA_${name}`), name).toBe(major > 1);
  }
});
