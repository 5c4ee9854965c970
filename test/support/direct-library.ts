// Checks whether the efa provider of this process has a direct data path: it then accesses the device's queues
// without rdma-core.
import { readFileSync } from 'node:fs';
import { version } from 'libfabric';
import { partId } from './softefa.js';

/** Returns the reason if the direct data path is not available in a fabric. */
export function whyNotDirect(fabric: 'efa' | 'efa-direct' = 'efa-direct'): string | undefined {
  const { major, minor } = version();
  if (fabric === 'efa' && major === 2 && minor === 3) {
    return 'libfabric 2.3 has a direct data path in the fabric efa-direct only';
  }
  if (major < 2 || (major === 2 && minor < 3)) {
    return `libfabric ${major}.${minor} has no direct data path, 2.3 is the first`;
  }
  // See efa_data_path_direct.c of the provider: a completion queue of that device has several sub-queues.
  if (partId === 0xefa0) return 'libfabric leaves the queues of a 0xefa0 to rdma-core';
  const maps = readFileSync('/proc/self/maps', 'latin1');
  const [file] = maps.match(/\/\S*\/libfabric\.so\S*/) ?? [];
  if (file === undefined) throw new Error('libfabric is not loaded');
  if (readFileSync(file, 'latin1').includes('efadv_query_qp_wqs')) return undefined;
  return `${file} was built with an rdma-core before 59, without a direct data path`;
}
