// When the efa provider does reads and writes itself: docs/efa-on-ec2.md says so case by case. What the
// device has moved, its counters tell.
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import { runInline } from '../support/inline.js';
import { type ProcessOptions, portCounter, startPair, upToDate } from '../support/process-pair.js';
import { withSoftefa } from '../support/softefa.js';
import { expectBytes, pattern } from '../support/transfer.js';

const { major, minor } = version();
const first = major === 1 && minor === 17;

const MIB = 2 ** 20;
const without = { FI_EFA_USE_DEVICE_RDMA: '0' };
const insisting = { FI_EFA_USE_DEVICE_RDMA: '1' };

/** Who reads and writes when the first transfers to the second. */
async function byTheDevice(one: ProcessOptions, two: ProcessOptions = one) {
  const part = { partId: 0xefa2 };
  const [a, b] = await startPair({ ...part, ...one, node: 0 }, { ...part, ...two, node: 1 });
  await a.ask('send', pattern(8));
  await b.ask('recv', 8);
  // A node's counters outlive the processes of the tests before.
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
/** What a 0xefa2 does for this machine's libfabric: 1.17 has no writes, and headers may lack them. */
function all() {
  if (first) return { reads: true, writes: false };
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

test('efa reads and writes by the device where both sides have it; 1.17 emulates all writes', async () => {
  expect(await byTheDevice({})).toEqual(all());
});

test.each<[string, ProcessOptions, ProcessOptions]>([
  ['here', { variables: without }, {}],
  ['at the peer', {}, { variables: without }],
])('efa emulates both where FI_EFA_USE_DEVICE_RDMA is 0 %s', async (_, one, two) => {
  expect(await byTheDevice(one, two)).toEqual(none);
});

test('efa 1.17 reads by the device of part 0xefa1 only where it is told to', async () => {
  const partId = 0xefa1;
  expect(await byTheDevice({ partId })).toEqual(first ? none : all());
  expect(await byTheDevice({ partId, variables: insisting })).toEqual(all());
});

test.for([
  ['1.17', true],
  ['1.18', false],
] as const)(
  'efa from 1.18 on emulates reads on part 0xefa1 for a caller of %s: %s',
  ([apiVersion, emulates], context) => {
    context.skip(first, '1.17 does not tell, and does for all');
    const program = `
    import { open } from 'libfabric';
    const ep = await open({ provider: 'efa', caps: ['FI_RMA'], apiVersion: '${apiVersion}' });
    console.log(ep.getOption('FI_OPT_EFA_EMULATED_READ'));
    await ep.close();`;
    const { stdout, stderr } = runInline(program, withSoftefa({ partId: 0xefa1 }));
    expect(stdout, stderr).toBe(`${emulates}\n`);
  },
);

test('efa emulates reads between a part 0xefa0 and a newer one, from libfabric 2.0 on', async (context) => {
  context.skip(first, '1.17 reads by no 0xefa0 unless told to');
  const { reads } = await byTheDevice({ partId: 0xefa0 }, { partId: 0xefa1 });
  expect(reads).toBe(major < 2);
});
