// npx libfabric devices
import { softefaEnvironment } from 'libfabric/softefa';
import { expect, test } from 'vitest';
import { libfabric } from '../support/command.js';
import { addConnectX, FakeSysfs, hasRdmaDevice } from '../support/fake-sysfs.js';
import { ownNamespace } from '../support/own-namespace.js';

const namespace = ownNamespace('cli-devices');

const softefa = (more = {}) => ({
  ...process.env,
  ...softefaEnvironment({ namespace, ...more }),
});

test('devices prints a block of lines for each device', () => {
  const { status, stdout, stderr } = libfabric(['devices'], softefa({ nics: 2, partId: 0xefa2 }));
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const blocks = stdout.split('\n\n');
  expect(blocks).toHaveLength(2);
  for (const [nic, block] of blocks.entries()) {
    expect(block).toMatch(new RegExp(`^softefa_${nic} \\(a device in software\\)\n`));
    expect(block).toMatch(new RegExp(`\n {2}domains +softefa_${nic}-rdm, softefa_${nic}-dgrm\n`));
    expect(block).toMatch(/\n {2}port 1 +ACTIVE LINK_UP, 100 Gbit\/s, /);
    expect(block).toMatch(/\n {2}EFA +RDMA_READ, RNR_RETRY, /);
  }
  const longest = Math.max(...stdout.split('\n').map((line) => line.length));
  expect(longest).toBeLessThanOrEqual(100);
});

test('a device without capabilities is shown as such', () => {
  const { stdout } = libfabric(['devices'], softefa({ capabilities: [] }));
  expect(stdout).toMatch(/\n {2}EFA +no capability\n/);
});

test('--json prints a bigint as a string', () => {
  const { status, stdout } = libfabric(['devices', '--json'], softefa());
  expect(status).toBe(0);
  const [device] = JSON.parse(stdout);
  expect(device.limits.maxMrSize).toBe('18446744073709551615');
  expect(device).toMatchObject({ name: 'softefa_0', error: null, ports: [{ speed: 100 }] });
});

test.skipIf(hasRdmaDevice()).for([
  { args: ['devices'], output: '' },
  { args: ['devices', '--json'], output: '[]\n' },
])('without a device, $args reports the reason', ({ args, output }) => {
  const { status, stdout, stderr } = libfabric(args);
  expect({ status, stdout }).toEqual({ status: 1, stdout: output });
  expect(stderr).toMatch(/^This machine has no RDMA device: /);
});

test.skipIf(hasRdmaDevice())('a device that cannot be opened is shown with the reason', () => {
  const fake = new FakeSysfs();
  try {
    addConnectX(fake);
    fake.put({
      'bus/pci/devices/0000:3b:00.0': '-> devices/pci0000:00/0000:3b:00.0',
      'bus/pci/devices/0000:86:00.0/vendor': '0x10de',
      'bus/pci/devices/0000:86:00.0/class': '0x030200',
      'bus/pci/devices/0000:86:00.0/numa_node': 0,
    });
    const { status, stdout } = libfabric(['devices'], { ...process.env, SYSFS_PATH: fake.root });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^mlx5_0\n {2}error +ENODEV: [\s\S]*\/dev\/infiniband/);
    expect(stdout).toMatch(/\n {2}driver +mlx5_core 5\.8-1\.0\.1\n/);
    expect(stdout).toMatch(/\n {2}port 1 +ACTIVE LINK_UP ETHERNET, 100 Gbit\/s\n/);
    expect(stdout).toMatch(/\n {2}accelerators +NVIDIA 0000:86:00\.0 \(SYS: another NUMA node\)\n/);
    expect(stdout).toMatch(/GID 0 +fe80:\S+ RoCE v2 ens1f0\n/);
  } finally {
    fake.remove();
  }
});
