// The distance between NICs and accelerators, from a PCI tree.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acceleratorsNear } from '../../dist/verbs/accelerators.js';
import { FakeSysfs } from '../support/fake-sysfs.js';

let fake: FakeSysfs;
beforeEach(() => {
  fake = new FakeSysfs();
});
afterEach(() => fake.remove());

const NVIDIA = { vendor: '0x10de', class: '0x030200' };

/** Adds a PCI device below bridges: `'pci0000:50/0000:50:01.0/0000:53:00.0'`. */
function add(path: string, files: Record<string, string | number>): string {
  const address = path.slice(path.lastIndexOf('/') + 1);
  const entries = Object.entries(files).map(([name, text]) => [`devices/${path}/${name}`, text]);
  fake.put(Object.fromEntries(entries));
  fake.put({ [`bus/pci/devices/${address}`]: `-> devices/${path}` });
  return address;
}

const ROOT = 'pci0000:50/0000:50:01.0/0000:51:00.0';

test('the nearest come first, in the words of nvidia-smi', () => {
  const nic = add(`${ROOT}/0000:52:01.0/0000:53:00.0`, { vendor: '0x1d0f', numa_node: 0 });
  add('pci0000:a0/0000:a0:01.0/0000:a1:00.0', { ...NVIDIA, numa_node: 1 });
  add('pci0000:60/0000:60:01.0/0000:61:00.0', { ...NVIDIA, numa_node: 0 });
  add('pci0000:50/0000:50:02.0/0000:58:00.0', { ...NVIDIA, numa_node: 0 });
  add(`${ROOT}/0000:52:02.0/0000:54:00.0/0000:55:00.0/0000:56:00.0`, { ...NVIDIA, numa_node: 0 });
  add(`${ROOT}/0000:52:00.0/0000:57:00.0`, { ...NVIDIA, numa_node: 0 });
  add(`${ROOT}/0000:52:03.0/0000:59:00.0`, { vendor: '0x10de', class: '0x068000' }); // NVSwitch
  const found = acceleratorsNear(fake.root, nic);
  expect(found.map(({ pciAddress, distance }) => [pciAddress, distance])).toEqual([
    ['0000:57:00.0', 'PIX'],
    ['0000:56:00.0', 'PXB'],
    ['0000:58:00.0', 'PHB'],
    ['0000:61:00.0', 'NODE'],
    ['0000:a1:00.0', 'SYS'],
  ]);
  expect(found[0]).toEqual({
    ...{ pciAddress: '0000:57:00.0', vendor: 'NVIDIA', numaNode: 0, distance: 'PIX' },
  });
});

test('accelerators of each vendor, and nothing else', () => {
  const nic = add('pci0000:00/0000:00:06.0', { vendor: '0x1d0f', device: '0xefa2' });
  add('pci0000:00/0000:00:1a.0', { vendor: '0x1002', class: '0x038000' });
  add('pci0000:00/0000:00:1b.0', { vendor: '0x1d0f', device: '0x7264' });
  add('pci0000:00/0000:00:1c.0', { vendor: '0x1da3', class: '0x120000' });
  add('pci0000:00/0000:00:1d.0', { vendor: '0x10de', class: '0x040300' }); // its sound
  add('pci0000:00/0000:00:1e.0', { vendor: '0x1d0f', device: '0x8061' });
  const vendors = acceleratorsNear(fake.root, nic).map(({ vendor }) => vendor);
  expect(vendors).toEqual(['AMD', 'Neuron', 'Habana']);
});

test('a NIC without a PCI address, or a machine without a PCI bus, has none', () => {
  expect(acceleratorsNear(fake.root, null)).toEqual([]);
  expect(acceleratorsNear(fake.root, '0000:00:06.0')).toEqual([]);
});
