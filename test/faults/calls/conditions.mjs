// The environment and the options of each provider.
import { softefaEnvironment } from 'libfabric/softefa';

export const PROVIDERS = ['tcp', 'shm', 'efa'];

export const environmentOf = (namespace) => ({
  ...process.env,
  ...softefaEnvironment({ namespace, keep: false, asynchronous: true, memlock: 'unlimited' }),
  FI_EFA_ENABLE_SHM_TRANSFER: '0', // uses the device also within a host
});

export const optionsOf = (program, provider, driver) => ({
  provider,
  driver,
  ...(provider === 'tcp' && { node: '127.0.0.1' }),
  ...(program === 'transfer' && { nics: 1 }),
});
