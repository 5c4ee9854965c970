// Files of sysfs. As rdma-core does, SYSFS_PATH in the environment stands for /sys.
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';

const CLASS = 'class/infiniband';

export const sysfsRoot = (): string => process.env.SYSFS_PATH || '/sys';

/** What a file says, without the line's end; null where there is none or it cannot be read. */
export function readText(...path: readonly string[]): string | null {
  try {
    return readFileSync(join(...path), 'utf8').trim();
  } catch {
    return null;
  }
}

/** The names in a folder; none where there is no such folder. */
export function namesIn(...path: readonly string[]): string[] {
  try {
    return readdirSync(join(...path));
  } catch {
    return [];
  }
}

/** The name of what a link leads to. */
export function linkName(...path: readonly string[]): string | null {
  try {
    return basename(readlinkSync(join(...path)));
  } catch {
    return null;
  }
}

/** The numbers of a device's ports. */
export function portNumbers(device: string): number[] {
  return namesIn(device, 'ports')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

/** The RDMA devices of the kernel. */
export function kernelDevices(root: string): { name: string; path: string }[] {
  return namesIn(root, CLASS).map((name) => ({ name, path: join(root, CLASS, name) }));
}

/** The root that a device's folder is below. */
export const rootOf = (device: string): string => join(device, '../../..');

/** What sysfs says of a device. */
export function identityOf(device: string) {
  const parent = join(device, 'device');
  const driver = linkName(parent, 'driver');
  return {
    pciAddress: pciAddressOf(parent),
    numaNode: numberFrom(readText(parent, 'numa_node'), /^\d+$/), // -1: none
    driver,
    driverVersion: driver && readText(rootOf(device), 'module', driver, 'version'),
    firmware: readText(device, 'fw_ver') || null,
    vendorId: numberFrom(readText(parent, 'vendor'), /^0x[\da-f]+$/),
    vendorPartId: numberFrom(readText(parent, 'device'), /^0x[\da-f]+$/),
  };
}

function pciAddressOf(parent: string): string | null {
  try {
    const name = basename(realpathSync(parent));
    return /^[\da-f]{4,}:[\da-f]{2}:[\da-f]{2}\.[\da-f]$/.test(name) ? name : null;
  } catch {
    return null;
  }
}

function numberFrom(text: string | null, pattern: RegExp): number | null {
  return text !== null && pattern.test(text) ? Number(text) : null;
}
