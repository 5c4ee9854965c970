// Whether the efa provider of this process can fill and read the device's queues by itself.
import { readFileSync } from 'node:fs';
import { version } from 'libfabric';
import { partId } from './softefa.js';

/** Why it cannot, if so. */
export function whyNotDirect(): string | undefined {
  const { major, minor } = version();
  if (major < 2 || (major === 2 && minor < 3)) {
    return `libfabric ${major}.${minor} has no direct data path, 2.3 is the first`;
  }
  // The provider says so in efa_data_path_direct.c: that device has several queues in a completion queue.
  if (partId === 0xefa0) return 'libfabric leaves the queues of a 0xefa0 to rdma-core';
  const maps = readFileSync('/proc/self/maps', 'latin1');
  const [file] = maps.match(/\/\S*\/libfabric\.so\S*/) ?? [];
  if (file === undefined) throw new Error('libfabric is not loaded');
  if (readFileSync(file, 'latin1').includes('efadv_query_qp_wqs')) return undefined;
  return `${file} was built with an rdma-core before 59, without a direct data path`;
}
