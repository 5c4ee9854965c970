// What becomes of a write that its target refuses: the region is not for it, or the key is another's.
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import '../support/efa-defaults.js';
import { pair, pattern } from '../support/transfer.js';

const { major } = version();
const SOON = 300;
const NOTHING_SAID = 'FI_ETIMEDOUT';

const outcome = (operation: Promise<unknown>) =>
  operation.then(
    () => 'done',
    (error) => error.code,
  );

// The writer asks for delivery, so that who says nothing is known from who says that it is done.
const refusals = [
  ['sockets', 'FI_EACCES'],
  ['tcp;ofi_rxm', 'FI_ECANCELED'],
  ['udp;ofi_rxd', NOTHING_SAID],
  ['shm', major < 2 ? NOTHING_SAID : undefined],
] as const;

test.for(refusals)(
  '%s: 64 bytes that may not be written are not, and the writer is told %s',
  async ([provider, told], context) => {
    const { a, b, toB } = await pair(context, provider, ['FI_MSG', 'FI_RMA']);
    const region = await b.domain.allocate(64, ['FI_REMOTE_READ']);
    const remote = a.domain.remote(region.descriptor());
    const options = { flags: ['FI_DELIVERY_COMPLETE'], timeout: SOON } as const;
    const answer = await outcome(a.write(pattern(64), toB, remote, options));
    if (told !== undefined) expect(answer).toBe(told);
    expect(region.bytes).toEqual(new Uint8Array(64));
  },
);

test.for(['shm', 'efa'] as const)(
  '%s of 1.17 within a host asks for neither key nor right to move more than 4 KiB',
  async (provider, context) => {
    const LARGE = 100_000;
    const { a, b, toB } = await pair(context, provider, ['FI_MSG', 'FI_RMA']);
    const stranger = async (right: 'FI_REMOTE_READ' | 'FI_REMOTE_WRITE') => {
      const region = await b.domain.allocate(LARGE, [right]);
      const { key, address } = a.domain.remote(region.descriptor());
      return { region, remote: a.domain.remote({ key: key ^ 5n, address, length: LARGE }) };
    };
    const readable = await stranger('FI_REMOTE_READ');
    await outcome(a.write(pattern(LARGE), toB, readable.remote, { timeout: SOON }));
    expect(readable.region.bytes.some((byte) => byte !== 0)).toBe(major < 2);
    if (major > 1) return;
    const writable = await stranger('FI_REMOTE_WRITE');
    writable.region.bytes.fill(7);
    const target = new Uint8Array(LARGE);
    await a.read(target, toB, writable.remote);
    expect(target).toEqual(new Uint8Array(LARGE).fill(7));
  },
);
