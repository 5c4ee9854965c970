// Reads sysfs. The environment variable SYSFS_PATH replaces /sys, as in rdma-core.
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';

const CLASS = 'class/infiniband';

export const sysfsRoot = (): string => process.env.SYSFS_PATH || '/sys';

/** The content of a file without its newline. Null if it does not exist or cannot be read. */
export function readText(...path: readonly string[]): string | null {
  try {
    return readFileSync(join(...path), 'utf8').trim();
  } catch {
    return null;
  }
}

/** The names in a folder. Empty if it does not exist. */
export function namesIn(...path: readonly string[]): string[] {
  try {
    return readdirSync(join(...path));
  } catch {
    return [];
  }
}

/** A number of a file, from 0 on. Null if the file has none. -1 means that there is no NUMA node. */
export function textNumber(...path: readonly string[]): number | null {
  return numberFrom(readText(...path), /^\d+$/);
}

/** The name of a link's target. */
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

/** The sysfs root of a device's folder. */
export const rootOf = (device: string): string => join(device, '../../..');

/** The identity of a device in sysfs. */
export function identityOf(device: string) {
  const parent = join(device, 'device');
  const driver = linkName(parent, 'driver');
  return {
    pciAddress: pciAddressOf(parent),
    numaNode: textNumber(parent, 'numa_node'),
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
