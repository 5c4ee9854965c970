import { FabricError } from '../../base/errors.js';
import type { EndpointBase } from '../../endpoint/endpoint.js';
import type { Rdma, RmaImplementation } from './rdma.js';

/**
 * Whether the device or the provider carries out the reads and writes of an endpoint (FI_OPT_EFA_EMULATED_*).
 * Undefined if the endpoint does not report it: providers other than efa, and efa of libfabric 1.17.
 */
export function rdmaOf(endpoint: Pick<EndpointBase, 'getOption'>): Rdma | undefined {
  const doer = (emulated: boolean): RmaImplementation => (emulated ? 'emulated' : 'device');
  try {
    return {
      reads: doer(endpoint.getOption('FI_OPT_EFA_EMULATED_READ')),
      writes: doer(endpoint.getOption('FI_OPT_EFA_EMULATED_WRITE')),
    };
  } catch (error) {
    if (FabricError.is(error)) return undefined;
    throw error;
  }
}

/** In words: 'reads by the device, writes emulated'. */
export function rdmaText(rdma: Rdma | undefined): string {
  if (rdma === undefined) return 'not reported';
  const words = { device: 'by the device', emulated: 'emulated' };
  return `reads ${words[rdma.reads]}, writes ${words[rdma.writes]}`;
}
