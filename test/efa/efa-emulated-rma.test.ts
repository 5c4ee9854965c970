// When the efa provider emulates reads and writes: docs/efa-on-ec2.md lists the cases. The device's counters
// count the transfers that the device did.
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { runInline } from '../support/command.js';
import { type ProcessOptions, portCounter, startPair, upToDate } from '../support/process-pair.js';
import { withSoftefa } from '../support/softefa.js';

const { major, minor } = version();
const is117 = major === 1 && minor === 17;

const MIB = 2 ** 20;
const without = { FI_EFA_USE_DEVICE_RDMA: '0' };
const forced = { FI_EFA_USE_DEVICE_RDMA: '1' };

/** Returns whether the device does the reads and writes of the first process. */
async function doneByDevice(one: ProcessOptions, two: ProcessOptions = one) {
  const part = { partId: 0xefa2 };
  const [a, b] = await startPair({ ...part, ...one, node: 0 }, { ...part, ...two, node: 1 });
  await a.ask('send', pattern(8));
  await b.ask('recv', 8);
  // A node's counters still count the transfers of earlier tests.
  const before = countersOf(await upToDate(a, b));
  await a.ask('write', pattern(MIB, 1));
  expectBytes(await b.ask<Uint8Array>('memory', MIB), pattern(MIB, 1));
  expectBytes(await a.ask<Uint8Array>('read', MIB), pattern(MIB, 1));
  const after = countersOf(await upToDate(a, b));
  await a.close();
  await b.close();
  return { reads: after.reads > before.reads, writes: after.writes > before.writes };
}

const countersOf = (sysfs: string) => ({
  reads: portCounter(sysfs, 'rdma_read_wrs'),
  writes: portCounter(sysfs, 'rdma_write_wrs'),
});

const none = { reads: false, writes: false };
/** What a 0xefa2 does with this machine's libfabric: 1.17 has no RDMA write, and other builds may lack it. */
function all() {
  if (is117) return { reads: true, writes: false };
  const program = `
    import { open } from 'libfabric';
    const ep = await open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA'] });
    const emulated = (what) => ep.getOption('FI_OPT_EFA_EMULATED_' + what);
    console.log(JSON.stringify(['ATOMICS', 'READ', 'WRITE'].map(emulated)));
    await ep.close();`;
  const { stdout, stderr } = runInline(program, withSoftefa({ partId: 0xefa2 }));
  expect(stderr).toBe('');
  const [atomics, read, write] = JSON.parse(stdout);
  expect({ atomics, read }).toEqual({ atomics: true, read: false });
  return { reads: true, writes: !write };
}

test('efa uses device RDMA if both devices have it; 1.17 emulates all writes', async () => {
  expect(await doneByDevice({})).toEqual(all());
});

test.each<[string, ProcessOptions, ProcessOptions]>([
  ['locally', { variables: without }, {}],
  ['at the peer', {}, { variables: without }],
])('efa emulates reads and writes if FI_EFA_USE_DEVICE_RDMA is 0 %s', async (_, one, two) => {
  expect(await doneByDevice(one, two)).toEqual(none);
});

test('efa 1.17 uses RDMA read of part 0xefa1 only if FI_EFA_USE_DEVICE_RDMA is 1', async () => {
  const partId = 0xefa1;
  expect(await doneByDevice({ partId })).toEqual(is117 ? none : all());
  expect(await doneByDevice({ partId, variables: forced })).toEqual(all());
});

test.for([
  ['1.17', true],
  ['1.18', false],
] as const)(
  'efa since 1.18 emulates reads on part 0xefa1 for API version %s: %s',
  ([apiVersion, emulates], context) => {
    context.skip(is117, '1.17 emulates them for all, and does not report it');
    const program = `
    import { open } from 'libfabric';
    const ep = await open({ provider: 'efa', caps: ['FI_RMA'], apiVersion: '${apiVersion}' });
    console.log(ep.getOption('FI_OPT_EFA_EMULATED_READ'));
    await ep.close();`;
    const { stdout, stderr } = runInline(program, withSoftefa({ partId: 0xefa1 }));
    expect(stdout, stderr).toBe(`${emulates}\n`);
  },
);

test('efa since libfabric 2.0 emulates reads between a part 0xefa0 and a newer one', async (context) => {
  context.skip(is117, '1.17 does not use RDMA read of a 0xefa0 by default');
  const { reads } = await doneByDevice({ partId: 0xefa0 }, { partId: 0xefa1 });
  expect(reads).toBe(major < 2);
});
