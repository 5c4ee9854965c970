import { type AcceleratorVendor, acceleratorVendor } from '../../verbs/accelerators.js';
import type { Machine } from './machine.js';

const PCI = '/sys/bus/pci/devices';

/** The PCI addresses of accelerators. */
export function acceleratorsOf({ files }: Machine, vendor?: AcceleratorVendor): string[] {
  return files.names(PCI).filter((address) => {
    const found = acceleratorVendor((file) => files.text(`${PCI}/${address}/${file}`));
    return found !== null && (vendor === undefined || found === vendor);
  });
}
