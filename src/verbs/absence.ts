import { linkName, namesIn, readText, sysfsRoot } from '../base/sysfs.js';
import { isRdmaCoreNotFound } from './errors.js';
import { findDevices } from './find.js';

/** Why there is no RDMA device. */
export type AbsenceCode =
  /** libibverbs is not installed. */
  | 'ERR_RDMA_CORE_NOT_FOUND'
  /** The machine has an EFA device, but no driver is bound to it. */
  | 'ERR_NO_RDMA_DRIVER'
  /** The kernel's RDMA modules are not loaded. */
  | 'ERR_NO_RDMA_SUBSYSTEM'
  /** The kernel's RDMA modules are loaded, but there is no device. */
  | 'ERR_NO_RDMA_DEVICE';

/** Why there is no RDMA device. */
export interface Absence {
  readonly code: AbsenceCode;
  /** The reason and a remedy, in a few lines. */
  readonly message: string;
}

const TRY_SOFTEFA = 'A software EFA device works on any machine: npx libfabric softefa -- COMMAND';

/**
 * Why {@link devices} returns none. Null if it returns any.
 *
 * @throws VerbsError if rdma-core fails for another reason.
 */
export function whyNoDevices(): Absence | null {
  try {
    if (findDevices().length > 0) return null;
  } catch (error) {
    if (!isRdmaCoreNotFound(error)) throw error;
    return { code: 'ERR_RDMA_CORE_NOT_FOUND', message: error.message };
  }
  const root = sysfsRoot();
  const idle = idleEfas(root);
  if (idle.length > 0) {
    const message = `No driver is bound to the EFA device at ${idle.join(', ')}: modprobe efa, or install the EFA driver.`;
    return { code: 'ERR_NO_RDMA_DRIVER', message };
  }
  if (!namesIn(root, 'class').includes('infiniband')) {
    const message = `This machine has no RDMA device: ${root}/class/infiniband does not exist.\n${advice(root)}`;
    return { code: 'ERR_NO_RDMA_SUBSYSTEM', message };
  }
  const message = `This machine has no RDMA device: ${root}/class/infiniband is empty.\n${advice(root)}`;
  return { code: 'ERR_NO_RDMA_DEVICE', message };
}

function advice(root: string): string {
  const onEc2 = /Amazon EC2/.test(readText(root, 'class/dmi/id/sys_vendor') ?? '');
  if (!onEc2) return TRY_SOFTEFA;
  return `On EC2, attach an EFA network interface to an instance type that supports EFA.\n${TRY_SOFTEFA}`;
}

/** PCI addresses of EFA devices without a driver. */
function idleEfas(root: string): string[] {
  const folder = `${root}/bus/pci/devices`;
  return namesIn(folder).filter((address) => {
    const says = (file: string) => readText(folder, address, file) ?? '';
    const isEfa = says('vendor') === '0x1d0f' && says('device').startsWith('0xefa');
    return isEfa && linkName(folder, address, 'driver') === null;
  });
}
