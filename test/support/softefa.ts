// Gives the process of a test file its own software EFA device. The device moves data asynchronously and in
// random order. Import before libfabric is used.
import {
  loadSoftefa,
  SoftefaFaults,
  type SoftefaOptions,
  softefaEnvironment,
} from 'libfabric/softefa';
import { afterAll, afterEach } from 'vitest';
import { ownNamespace } from './own-namespace.js';

// Endpoints of one machine also use the device instead of shared memory.
process.env.FI_EFA_ENABLE_SHM_TRANSFER ??= '0';

export const namespace = ownNamespace('test');

/** The device's PCI device id. `npm run suite -- efa` may set it. */
export const partId = Number(process.env.SOFTEFA_PART_ID ?? 0xefa2);

/** Whether libfabric 1.17 ignores the RDMA capabilities of this device. */
export const isOldPart = partId < 0xefa2;

const options = {
  namespace,
  asynchronous: process.env.LIBFABRIC_TEST_EFA !== 'synchronous',
  memlock: 'unlimited',
} as const;

loadSoftefa(options);
// `npm run suite -- efa` repeats the tests under these conditions.
if (process.env.LIBFABRIC_TEST_EFA === 'reordering') {
  new SoftefaFaults({ namespace }).set({ reorder: 0.2, delay: 0.02 });
}

/** Returns the environment of a process whose devices can reach those of this process. */
export const withSoftefa = (more: SoftefaOptions = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  ...softefaEnvironment({ ...options, ...more }),
});

/** Returns the faults of this process's devices. Each test begins without any. */
export function testFaults(): SoftefaFaults {
  const faults = new SoftefaFaults({ namespace });
  afterEach(() => faults.clear());
  afterAll(() => faults.close());
  return faults;
}
