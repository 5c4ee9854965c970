import { kernelDevices, rootOf, sysfsRoot } from '../base/sysfs.js';
import { isRdmaCoreNotFound } from './errors.js';
import { listDevices } from './native.js';

/** A device that was found but not opened. */
export interface Found {
  readonly name: string;
  /** Its folder in sysfs. */
  readonly path: string;
  /** Set if libibverbs has a driver for it. */
  readonly guid?: bigint;
}

const byName = new Intl.Collator('en', { numeric: true });

/**
 * The devices that libibverbs has a driver for, and those that only the kernel lists. Throws
 * ERR_RDMA_CORE_NOT_FOUND.
 */
export function findDevices(): Found[] {
  return withKernelDevices(listDevices());
}

/** Like findDevices(), but without rdma-core. The result suffices to read sysfs. */
export function findFolders(): Found[] {
  try {
    return findDevices();
  } catch (error) {
    if (isRdmaCoreNotFound(error)) return withKernelDevices([]);
    throw error;
  }
}

function withKernelDevices(listed: readonly Found[]): Found[] {
  const root = listed[0] ? rootOf(listed[0].path) : sysfsRoot();
  const known = new Set(listed.map(({ name }) => name));
  const others = kernelDevices(root).filter(({ name }) => !known.has(name));
  return [...listed, ...others].sort((a, b) => byName.compare(a.name, b.name));
}
