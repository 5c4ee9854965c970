import type { Rdma } from '../shared/rdma-support.js';
import { runApart } from './subprocess.js';

/** What has become of an endpoint that was opened on a domain and sent itself a message. */
export interface Trial {
  readonly domain: string;
  /** Null: it has worked. */
  readonly failure: string | null;
  /** Who carries out its reads and writes; null where it does not tell. */
  readonly rdma: Rdma | null;
}

// Within a host the provider would take shm, which needs no device.
const THROUGH_DEVICE = { FI_EFA_ENABLE_SHM_TRANSFER: '0' };

/** Tries one domain after another. */
export async function tryEndpoints(domains: readonly string[]): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (const domain of domains) {
    const { failure, output } = await runApart('trial-program.js', [domain], THROUGH_DEVICE);
    trials.push({ domain, failure, rdma: failure === null ? JSON.parse(output) : null });
  }
  return trials;
}
