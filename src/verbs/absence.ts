import { isRdmaCoreNotFound } from './errors.js';
import { findDevices } from './find.js';
import { linkName, namesIn, readText, sysfsRoot } from './sysfs.js';

/** Why there is no RDMA device. */
export type AbsenceCode =
  /** libibverbs is not installed. */
  | 'ERR_RDMA_CORE_NOT_FOUND'
  /** There is an EFA, and no driver has taken it. */
  | 'ERR_NO_RDMA_DRIVER'
  /** The kernel has no RDMA: its modules are not loaded. */
  | 'ERR_NO_RDMA_SUBSYSTEM'
  /** The kernel has RDMA, and no device. */
  | 'ERR_NO_RDMA_DEVICE';

/** Why there is no RDMA device. */
export interface Absence {
  readonly code: AbsenceCode;
  /** The reason and what to do, in a few lines. */
  readonly message: string;
}

const TRY_SOFTEFA = 'A software EFA device works on any machine: npx libfabric softefa -- COMMAND';

/** Why {@link devices} gives none; null where it gives some. */
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
    const message = `No driver has taken the EFA at ${idle.join(', ')}: modprobe efa, or install the EFA driver.`;
    return { code: 'ERR_NO_RDMA_DRIVER', message };
  }
  if (!namesIn(root, 'class').includes('infiniband')) {
    const message = `This machine has no RDMA device: there is no ${root}/class/infiniband.\n${advice(root)}`;
    return { code: 'ERR_NO_RDMA_SUBSYSTEM', message };
  }
  const message = `This machine has no RDMA device: ${root}/class/infiniband is empty.\n${advice(root)}`;
  return { code: 'ERR_NO_RDMA_DEVICE', message };
}

function advice(root: string): string {
  const onEc2 = /Amazon EC2/.test(readText(root, 'class/dmi/id/sys_vendor') ?? '');
  if (!onEc2) return TRY_SOFTEFA;
  return `On EC2, attach a network interface of type EFA to an instance type that has them.\n${TRY_SOFTEFA}`;
}

/** PCI addresses of EFAs without a driver. */
function idleEfas(root: string): string[] {
  const folder = `${root}/bus/pci/devices`;
  return namesIn(folder).filter((address) => {
    const says = (file: string) => readText(folder, address, file) ?? '';
    const isEfa = says('vendor') === '0x1d0f' && says('device').startsWith('0xefa');
    return isEfa && linkName(folder, address, 'driver') === null;
  });
}
