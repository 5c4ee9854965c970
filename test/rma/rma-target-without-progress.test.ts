// Either the device serves a peer's reads and writes, or the target's engine does when it makes progress.
import { type Endpoint, open, version } from 'libfabric';
import { expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { settle } from '../support/settle.js';
import { isOldPart } from '../support/softefa.js';
import { available, closing, loopback } from '../support/transfer.js';

const SOON = 300;
const flags = ['FI_DELIVERY_COMPLETE'] as const;

/** Whether the provider leaves reads or writes to the target's engine. */
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
  '%s: %s of the memory of a target without progress completes only if the device serves it',
  async ([requested, what], context) => {
    const provider = available(context, requested, ['FI_RMA']);
    const emulates = requested === 'efa' && isOldPart && version().major === 1;
    context.skip(emulates, '1.17 does not use the RDMA of this device');
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
    await settle(access(5000), b.domain); // connects the endpoints
    const outcome = access(SOON).then(
      () => 'done',
      (error) => error.code,
    );
    expect(await outcome).toBe(emulated(provider, a as Endpoint, what) ? 'FI_ETIMEDOUT' : 'done');
  },
);
