import { sysfsRoot, textNumber } from '../sysfs.js';
import { AcceleratorError } from './errors.js';
import type { CallOf, NativeMemory } from './native.js';

/** A device of this machine. */
export interface AcceleratorDevice {
  /** For `allocate()`, and as `device` of device memory. */
  readonly index: number;
  /** `'AMD Instinct MI300X'`. */
  readonly name: string;
  /** `'0000:53:00.0'`, as in sysfs. */
  readonly pciAddress: string;
  /** Null if the machine has one node or does not report it. */
  readonly numaNode: number | null;
  /** Bytes. */
  readonly memory: number;
}

/** What the addon tells of a device. */
export type NativeDevice = Omit<AcceleratorDevice, 'numaNode'>;

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
  const { index, name, pciAddress, memory } = device;
  const numaNode = textNumber(sysfsRoot(), 'bus/pci/devices', pciAddress, 'numa_node');
  return { index, name, pciAddress, numaNode, memory };
}
