import { sysfsRoot, textNumber } from '../base/sysfs.js';
import { AcceleratorError } from './errors.js';
import type { CallOf, NativeMemory } from './native.js';

/** A device of this machine. */
export interface AcceleratorDevice {
  /** For `allocate()`, and as `device` of device memory. */
  readonly index: number;
  /** `'AMD Instinct MI300X'`. */
  readonly name: string;
  /** `'0000:53:00.0'`, as in sysfs. Null if the library does not tell it. */
  readonly pciAddress: string | null;
  /** Null if the machine has one node or does not report it. */
  readonly numaNode: number | null;
  /** Bytes. */
  readonly memory: number;
}

/** What the addon tells of a device. */
export interface NativeDevice extends Omit<AcceleratorDevice, 'pciAddress' | 'numaNode'> {
  /** Empty if the library does not tell it. */
  readonly pciAddress: string;
}

/** An addon whose devices can be listed. */
export interface NativeAccelerator extends NativeMemory {
  devices(): NativeDevice[];
}

/** Lists devices. None if the library fails as it does without devices. @internal */
export function devicesOf(
  call: CallOf<NativeAccelerator>,
  isNone: (error: AcceleratorError) => boolean,
): AcceleratorDevice[] {
  try {
    return call((addon) => addon.devices()).map(located);
  } catch (error) {
    if (error instanceof AcceleratorError && isNone(error)) return [];
    throw error;
  }
}

function located(device: NativeDevice): AcceleratorDevice {
  const { index, name, memory } = device;
  if (device.pciAddress === '') return { index, name, pciAddress: null, numaNode: null, memory };
  const { pciAddress } = device;
  const numaNode = textNumber(sysfsRoot(), 'bus/pci/devices', pciAddress, 'numa_node');
  return { index, name, pciAddress, numaNode, memory };
}
