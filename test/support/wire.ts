import { getInfo } from 'libfabric';
import { openEndpoint } from '../../dist/cli/fabtests/common/open-endpoint.js';
import { afterEveryTest } from './every-test.js';

/** Functions that run after a test, the last one first. */
export const cleanups: (() => unknown)[] = [];
afterEveryTest(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Opens an endpoint of this package that a test uses like a C program: one call after another. */
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
  const timer = setInterval(() => opened.domain.progress(), 1);
  cleanups.push(() => clearInterval(timer));
  return opened.ep;
}

/** Pads an address for the out-of-band exchange: to 256 bytes in fabtests 1.17, to 1024 since 1.18. */
export const padded = (address: Uint8Array, bytes = 1024) => Buffer.concat([address], bytes);
