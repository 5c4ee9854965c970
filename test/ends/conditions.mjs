// The environment and the endpoint of each provider.
import { open } from 'libfabric';

const LOOPBACK = { node: '127.0.0.1' };

const OPTIONS = {
  shm: { provider: 'shm' },
  tcp: { provider: 'tcp', ...LOOPBACK },
  udp: { provider: 'udp', ...LOOPBACK },
  efa: { provider: 'efa' },
  'efa-wire': { provider: 'efa' },
};

/** The environment of processes that use a provider. `devices` are softefa's options. */
export function environmentOf(provider, devices) {
  if (!provider.startsWith('efa')) return process.env;
  return { ...process.env, ...devices, FI_EFA_ENABLE_SHM_TRANSFER: provider === 'efa' ? '1' : '0' };
}

/** Opens an endpoint. With the manual driver, also drives its engine while it is open. */
export async function opened(provider, driver) {
  const caps = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'];
  const endpoint = await open({ ...OPTIONS[provider], caps, driver });
  if (driver === 'manual') turn(endpoint.domain);
  return endpoint;
}

function turn(domain) {
  if (domain.closed) return;
  domain.progress();
  setImmediate(turn, domain);
}
