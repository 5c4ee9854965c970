// Who serves a peer's reads and writes: the device, or the target's engine when it is turned.
import { type Endpoint, open, version } from 'libfabric';
import { expect, test } from 'vitest';
import { isOldPart } from '../support/softefa.js';
import { available, closing, loopback, pattern, settle } from '../support/transfer.js';

const SOON = 300;
const flags = ['FI_DELIVERY_COMPLETE'] as const;

/** What of its remote accesses an endpoint's provider leaves to the target's engine. */
function emulated(provider: string, ep: Endpoint, what: 'READ' | 'WRITE'): boolean {
  if (provider !== 'efa') return true;
  if (version().major < 2) return what === 'WRITE';
  return ep.getOption(`FI_OPT_EFA_EMULATED_${what}`);
}

test.for([
  ['tcp;ofi_rxm', 'READ'],
  ['tcp;ofi_rxm', 'WRITE'],
  ['efa', 'READ'],
  ['efa', 'WRITE'],
] as const)(
  '%s: %s of the memory of a target that is not turned completes where the device does it',
  async ([wanted, what], context) => {
    const provider = available(context, wanted, ['FI_RMA']);
    const emulates = wanted === 'efa' && isOldPart && version().major === 1;
    context.skip(emulates, '1.17 uses the RDMA of no such device');
    const options = { provider, caps: ['FI_MSG', 'FI_RMA'], ...loopback(provider) } as const;
    const a = closing(await open(options));
    const b = closing(await open({ ...options, driver: 'manual' }));
    const region = await b.domain.allocate(64, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);
    const remote = a.domain.remote(region.descriptor());
    const toB = a.av.insert(b.address);
    b.av.insert(a.address);
    const access = (timeout: number) =>
      what === 'READ'
        ? a.read(new Uint8Array(64), toB, remote, { timeout })
        : a.write(pattern(64), toB, remote, { timeout, flags });
    await settle(access(5000), b); // they know each other now
    const outcome = access(SOON).then(
      () => 'done',
      (error) => error.code,
    );
    expect(await outcome).toBe(emulated(provider, a as Endpoint, what) ? 'FI_ETIMEDOUT' : 'done');
  },
);
