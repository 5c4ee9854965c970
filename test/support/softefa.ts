// Gives the process of a test file a software EFA device of its own, which moves data after the post
// has returned and in random order. Imported before libfabric is used.
import {
  loadSoftefa,
  SoftefaFaults,
  type SoftefaOptions,
  softefaEnvironment,
} from 'libfabric/softefa';
import { afterAll, afterEach } from 'vitest';
import { ownNamespace } from './own-namespace.js';

// The device's own path, also between endpoints of one machine.
process.env.FI_EFA_ENABLE_SHM_TRANSFER ??= '0';

export const namespace = ownNamespace('test');

/** The PCI device id of the device, which `npm run test:efa` may set. */
export const partId = Number(process.env.SOFTEFA_PART_ID ?? 0xefa2);

/** Whether the device is one whose RDMA libfabric 1.17 does not use. */
export const isOldPart = partId < 0xefa2;

const options = {
  namespace,
  asynchronous: process.env.LIBFABRIC_TEST_EFA !== 'synchronous',
  memlock: 'unlimited',
} as const;

loadSoftefa(options);
// `npm run test:efa` repeats the tests under these conditions.
if (process.env.LIBFABRIC_TEST_EFA === 'reordering') {
  new SoftefaFaults({ namespace }).set({ reorder: 200, delay: 20 });
}

/** The environment of a process that meets the devices of this one. */
export const withSoftefa = (more: SoftefaOptions = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  ...softefaEnvironment({ ...options, ...more }),
});

/** Faults of this process's devices, to be set by tests: each begins without any. */
export function testFaults(): SoftefaFaults {
  const faults = new SoftefaFaults({ namespace });
  afterEach(() => faults.clear());
  afterAll(() => faults.close());
  return faults;
}
