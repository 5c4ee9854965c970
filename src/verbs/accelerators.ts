// GPUs and other accelerators, and how far they are from a NIC: from the PCI tree in sysfs.
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, readText, textNumber } from '../base/sysfs.js';

/** The vendor of an accelerator. */
export type AcceleratorVendor = 'NVIDIA' | 'AMD' | 'Neuron' | 'Habana';

/**
 * The path between a NIC and an accelerator, in the words of `nvidia-smi topo`: one PCIe switch
 * (`PIX`), several (`PXB`), a PCIe host bridge (`PHB`), the interconnect within a NUMA node
 * (`NODE`) or between nodes (`SYS`).
 */
export type PciDistance = 'PIX' | 'PXB' | 'PHB' | 'NODE' | 'SYS';

/** A GPU or another accelerator, and its distance from a NIC. */
export interface NearAccelerator {
  /** `'0000:53:00.0'`. */
  readonly pciAddress: string;
  readonly vendor: AcceleratorVendor;
  /** Null if the machine has one node or does not report it. */
  readonly numaNode: number | null;
  readonly distance: PciDistance;
}

const NEAREST: readonly PciDistance[] = ['PIX', 'PXB', 'PHB', 'NODE', 'SYS'];

// Inferentia and Trainium.
const NEURON = ['0x7064', '0x7164', '0x7264', '0x7364'];

/** The vendor of a PCI device, if it is an accelerator. */
export function acceleratorVendor(
  read: (file: 'vendor' | 'device' | 'class') => string | null,
): AcceleratorVendor | null {
  const type = read('class') ?? '';
  const isDisplay = type.startsWith('0x03');
  const isAccelerator = type.startsWith('0x12');
  switch (read('vendor')) {
    case '0x10de':
      return isDisplay ? 'NVIDIA' : null;
    case '0x1002':
      return isDisplay || isAccelerator ? 'AMD' : null;
    case '0x1d0f':
      return NEURON.includes(read('device') ?? '') ? 'Neuron' : null;
    case '0x1da3':
      return isAccelerator ? 'Habana' : null;
    default:
      return null;
  }
}

/** The accelerators of a machine, the nearest to a PCI device first. */
export function acceleratorsNear(root: string, pciAddress: string | null): NearAccelerator[] {
  if (pciAddress === null) return [];
  const folder = join(root, 'bus/pci/devices');
  const nic = positionOf(root, pciAddress);
  const found = namesIn(folder).flatMap((address): NearAccelerator[] => {
    const vendor = acceleratorVendor((file) => readText(folder, address, file));
    if (vendor === null) return [];
    const position = positionOf(root, address);
    const distance = distanceOf(nic, position);
    return [{ pciAddress: address, vendor, numaNode: position.numaNode, distance }];
  });
  const rank = ({ distance }: NearAccelerator) => NEAREST.indexOf(distance);
  return found.sort((a, b) => rank(a) - rank(b) || a.pciAddress.localeCompare(b.pciAddress));
}

interface PciPosition {
  /** The bridges above a device, from the root: `['pci0000:50', '0000:50:01.0', ...]`. */
  readonly bridges: readonly string[];
  readonly numaNode: number | null;
}

function positionOf(root: string, address: string): PciPosition {
  const device = join(root, 'bus/pci/devices', address);
  const numaNode = textNumber(device, 'numa_node');
  try {
    const [, below = ''] = realpathSync(device).split('/devices/');
    return { bridges: below.split('/').slice(0, -1), numaNode };
  } catch {
    return { bridges: [], numaNode };
  }
}

function distanceOf(a: PciPosition, b: PciPosition): PciDistance {
  let common = 0;
  while (common < a.bridges.length && a.bridges[common] === b.bridges[common]) common++;
  if (common === 0) return a.numaNode === b.numaNode ? 'NODE' : 'SYS';
  if (common === 1) return 'PHB'; // the root is the host bridge
  const most = Math.max(a.bridges.length, b.bridges.length) - common;
  return most <= 1 ? 'PIX' : 'PXB';
}
