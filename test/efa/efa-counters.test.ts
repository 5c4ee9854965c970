// The counters that the EFA driver has in sysfs count what the efa provider moves.
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import { until } from '../support/lifecycle.js';
import { portCounter } from '../support/process-pair.js';
import { isOldPart, partId, testFaults } from '../support/softefa.js';
import { datagramPair, pair, pattern } from '../support/transfer.js';

const faults = testFaults();

const counter = (name: string) => portCounter(process.env.SYSFS_PATH as string, name);
const NAMES = ['tx_bytes', 'tx_pkts', 'rx_bytes', 'rx_pkts', 'rx_drops', 'retrans_pkts'] as const;
const MORE = ['send_wrs', 'send_bytes', 'recv_wrs', 'recv_bytes'] as const;
const RDMA = ['rdma_read_wrs', 'rdma_read_bytes', 'rdma_read_resp_bytes'] as const;

/** What the counters rise by from now on. */
function measure() {
  const all = [...NAMES, ...MORE, ...RDMA];
  const before = new Map(all.map((name) => [name, counter(name)]));
  const rises = () =>
    Object.fromEntries(all.map((name) => [name, counter(name) - (before.get(name) as number)]));
  return {
    /** Waits until they show at least so much of one, and gives all. */
    async untilRisen(name: (typeof all)[number], by: number) {
      await until(() => (rises()[name] as number) >= by);
      return rises();
    },
  };
}

test('efa: datagrams are counted one by one, and so is what is dropped', async (context) => {
  const wire = await datagramPair(context, 'efa');
  const COUNT = 50;
  const LENGTH = 1000;
  const received = Array.from({ length: COUNT }, () => wire.b.recv(new Uint8Array(LENGTH)));
  await wire.postedByB(COUNT);
  const measured = measure();
  for (let i = 0; i < COUNT; i++) await wire.done(wire.a.send(pattern(LENGTH), wire.toB));
  await wire.done(Promise.all(received));
  const bytes = COUNT * LENGTH;
  expect(await measured.untilRisen('recv_wrs', COUNT)).toMatchObject({
    tx_pkts: COUNT,
    tx_bytes: bytes,
    rx_pkts: COUNT,
    rx_bytes: bytes,
    rx_drops: 0,
    send_wrs: COUNT,
    send_bytes: bytes,
    recv_wrs: COUNT,
    recv_bytes: bytes,
  });

  const dropped = measure();
  for (let i = 0; i < 10; i++) await wire.done(wire.a.send(pattern(LENGTH), wire.toB));
  expect(await dropped.untilRisen('rx_drops', 10)).toMatchObject({
    tx_pkts: 10,
    rx_drops: 10,
    recv_wrs: 0,
  });
});

test('efa: reads are counted at both ends', async (context) => {
  context.skip(isOldPart && version().major === 1, '1.17 uses the RDMA of no such device');
  context.skip(partId === 0xefa0, 'the device does not read');
  const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const { a, b, toB } = wire;
  const region = await b.domain.allocate(1 << 20, ['FI_REMOTE_READ']);
  const remote = a.domain.remote(region.descriptor());
  // The provider lets the device read once it has learned that the peer's can.
  const earlier = counter('rdma_read_wrs');
  do await wire.done(a.read(new Uint8Array(64), toB, remote));
  while (counter('rdma_read_wrs') === earlier);
  const measured = measure();
  for (let i = 0; i < 3; i++) await wire.done(a.read(new Uint8Array(1 << 20), toB, remote));
  const bytes = 3 << 20;
  const rises = await measured.untilRisen('rdma_read_resp_bytes', bytes);
  expect(rises.rdma_read_bytes).toBe(rises.rdma_read_resp_bytes);
  expect(rises.rdma_read_wrs).toBeGreaterThanOrEqual(3);
  expect(rises.tx_bytes).toBeGreaterThanOrEqual(bytes);
});

test('efa: packets of messages that are lost are sent again, and counted', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  faults.set({ drop: 300 });
  const measured = measure();
  const COUNT = 100;
  const received = Array.from({ length: COUNT }, () => wire.b.recv(new Uint8Array(64)));
  const sent = Array.from({ length: COUNT }, () => wire.a.send(pattern(64), wire.toB));
  await wire.done(Promise.all([...received, ...sent]));
  const { retrans_pkts } = await measured.untilRisen('recv_wrs', COUNT);
  expect(retrans_pkts).toBeGreaterThan(0);
});
