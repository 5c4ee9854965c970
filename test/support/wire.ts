import { getInfo } from 'libfabric';
import { afterEach } from 'vitest';
import { openEndpoint } from '../../dist/cli/fabtests/common/open-endpoint.js';

/** What is done when a test has ended, the last one first. */
export const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** An endpoint of this package, to be used as a C program would: one call after another. */
export async function rawEndpoint(
  provider: string,
  caps: ('FI_MSG' | 'FI_TAGGED' | 'FI_RMA' | 'FI_ATOMIC')[],
  service?: string,
) {
  const [info] = getInfo({
    fabricAttr: { provName: provider },
    epAttr: { type: provider === 'udp' ? 'FI_EP_DGRAM' : 'FI_EP_RDM' },
    caps,
    ...(provider !== 'shm' && { node: '127.0.0.1', service, flags: ['FI_SOURCE'] as const }),
  });
  const opened = await openEndpoint(info as never);
  cleanups.push(async () => {
    await opened.ep.close();
    await opened.fabric.close();
  });
  const turn = setInterval(() => opened.domain.progress(), 1);
  cleanups.push(() => clearInterval(turn));
  return opened.ep;
}

/** An address as it goes out of band: in 256 bytes in fabtests 1.17, in 1024 since 1.18. */
export const padded = (address: Uint8Array, bytes = 1024) => Buffer.concat([address], bytes);
