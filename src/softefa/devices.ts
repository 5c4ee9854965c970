import { readdirSync, readFileSync } from 'node:fs';
import { checkString } from '../base/checks.js';

const AMAZON = '0x1d0f';

/** Whether this machine has an EFA device in hardware. */
export function hasEfaDevice(sysfs = '/sys'): boolean {
  const devices = `${checkString('sysfs', sysfs)}/class/infiniband`;
  let names: string[];
  try {
    names = readdirSync(devices);
  } catch {
    return false; // no RDMA device at all
  }
  return names.some((name) => {
    try {
      return readFileSync(`${devices}/${name}/device/vendor`, 'utf8').trim() === AMAZON;
    } catch {
      return false;
    }
  });
}
