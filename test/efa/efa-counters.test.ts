// The counters of the EFA driver in sysfs count the transfers of the efa provider.
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { until } from '../support/lifecycle.js';
import { portCounter } from '../support/process-pair.js';
import { isOldPart, partId, testFaults } from '../support/softefa.js';
import { datagramPair, pair } from '../support/transfer.js';

const faults = testFaults();

const counter = (name: string) => portCounter(process.env.SYSFS_PATH as string, name);
const NAMES = ['tx_bytes', 'tx_pkts', 'rx_bytes', 'rx_pkts', 'rx_drops', 'retrans_pkts'] as const;
const MORE = ['send_wrs', 'send_bytes', 'recv_wrs', 'recv_bytes'] as const;
const RDMA = ['rdma_read_wrs', 'rdma_read_bytes', 'rdma_read_resp_bytes'] as const;

/** Measures the increase of the counters from now on. */
function measure() {
  const all = [...NAMES, ...MORE, ...RDMA];
  const before = new Map(all.map((name) => [name, counter(name)]));
  const increases = () =>
    Object.fromEntries(all.map((name) => [name, counter(name) - (before.get(name) as number)]));
  return {
    /** Waits until a counter has increased by at least `by`. Returns all increases. */
    async untilIncreased(name: (typeof all)[number], by: number) {
      await until(() => (increases()[name] as number) >= by);
      return increases();
    },
  };
}

test('efa: the counters count each datagram and each drop', async (context) => {
  const wire = await datagramPair(context, 'efa');
  const COUNT = 50;
  const LENGTH = 1000;
  const received = Array.from({ length: COUNT }, () => wire.b.recv(new Uint8Array(LENGTH)));
  await wire.postedByB(COUNT);
  const measured = measure();
  for (let i = 0; i < COUNT; i++) await wire.done(wire.a.send(pattern(LENGTH), wire.toB));
  await wire.done(Promise.all(received));
  const bytes = COUNT * LENGTH;
  expect(await measured.untilIncreased('recv_wrs', COUNT)).toMatchObject({
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
  expect(await dropped.untilIncreased('rx_drops', 10)).toMatchObject({
    tx_pkts: 10,
    rx_drops: 10,
    recv_wrs: 0,
  });
});

test('efa: the counters of both devices count reads', async (context) => {
  context.skip(isOldPart && version().major === 1, '1.17 does not use the RDMA of this device');
  context.skip(partId === 0xefa0, 'the device has no RDMA read');
  const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const { a, b, toB } = wire;
  const region = await b.domain.allocate(1 << 20, ['FI_REMOTE_READ']);
  const remote = a.domain.remote(region.descriptor());
  // The provider uses the device's RDMA read after the peer has reported that its device has it.
  const earlier = counter('rdma_read_wrs');
  do await wire.done(a.read(new Uint8Array(64), toB, remote));
  while (counter('rdma_read_wrs') === earlier);
  const measured = measure();
  for (let i = 0; i < 3; i++) await wire.done(a.read(new Uint8Array(1 << 20), toB, remote));
  const bytes = 3 << 20;
  const increases = await measured.untilIncreased('rdma_read_resp_bytes', bytes);
  expect(increases.rdma_read_bytes).toBe(increases.rdma_read_resp_bytes);
  expect(increases.rdma_read_wrs).toBeGreaterThanOrEqual(3);
  expect(increases.tx_bytes).toBeGreaterThanOrEqual(bytes);
});

test('efa: the counters count packets that are lost and sent again', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  faults.set({ drop: 300 });
  const measured = measure();
  const COUNT = 100;
  const received = Array.from({ length: COUNT }, () => wire.b.recv(new Uint8Array(64)));
  const sent = Array.from({ length: COUNT }, () => wire.a.send(pattern(64), wire.toB));
  await wire.done(Promise.all([...received, ...sent]));
  const { retrans_pkts } = await measured.untilIncreased('recv_wrs', COUNT);
  expect(retrans_pkts).toBeGreaterThan(0);
});
