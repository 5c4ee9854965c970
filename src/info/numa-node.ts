import { readText, sysfsRoot } from '../base/sysfs.js';
import type { AnyInfo } from '../contract/info-types.js';

/** The NUMA node of an entry's network card. Null if the kernel does not report one. */
export function numaNodeOf({ nic, domainAttr }: AnyInfo): number | null {
  const root = sysfsRoot();
  for (const device of foldersOf(nic, domainAttr.name)) {
    const text = readText(root, device, 'numa_node');
    if (text !== null) return /^\d+$/.test(text) ? Number(text) : null; // -1: none
  }
  return null;
}

// A card is found by its PCI address, as an RDMA device, or as a network interface, such as those of tcp.
function* foldersOf(nic: AnyInfo['nic'], domain: string | null): Generator<string> {
  const pci = nic?.busAttr?.pci;
  if (pci) {
    const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
    const { domainId, busId, deviceId, functionId } = pci;
    yield `bus/pci/devices/${hex(domainId, 4)}:${hex(busId, 2)}:${hex(deviceId, 2)}.${functionId}`;
  }
  const name = nic?.deviceAttr?.name;
  if (name) yield `class/infiniband/${name}/device`;
  if (domain) yield `class/net/${domain}/device`;
}
