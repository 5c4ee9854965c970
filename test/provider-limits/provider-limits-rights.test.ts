// Writes and reads that the target must refuse: the region does not allow them, or the key is wrong.
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import '../support/efa-defaults.js';
import { pattern } from '../support/bytes.js';
import { pair } from '../support/transfer.js';

const { major } = version();
const SOON = 300;
const NO_REPORT = 'FI_ETIMEDOUT';

const outcome = (operation: Promise<unknown>) =>
  operation.then(
    () => 'done',
    (error) => error.code,
  );

// The writer requests delivery completion, which separates a missing report from a reported success.
const refusals = [
  ['sockets', 'FI_EACCES'],
  ['tcp;ofi_rxm', 'FI_ECANCELED'],
  ['udp;ofi_rxd', NO_REPORT],
  ['shm', major < 2 ? NO_REPORT : undefined],
] as const;

test.for(refusals)(
  '%s: a forbidden write of 64 bytes changes nothing, and the writer gets %s',
  async ([provider, expected], context) => {
    const { a, b, toB } = await pair(context, provider, ['FI_MSG', 'FI_RMA']);
    const region = await b.domain.allocate(64, ['FI_REMOTE_READ']);
    const remote = a.domain.remote(region.descriptor());
    const options = { flags: ['FI_DELIVERY_COMPLETE'], timeout: SOON } as const;
    const answer = await outcome(a.write(pattern(64), toB, remote, options));
    if (expected !== undefined) expect(answer).toBe(expected);
    expect(region.bytes).toEqual(new Uint8Array(64));
  },
);

test.for(refusals.map(([provider]) => provider).filter((name) => name !== 'shm'))(
  '%s: a forbidden read of 64 bytes brings nothing',
  async (provider, context) => {
    const { a, b, toB } = await pair(context, provider, ['FI_MSG', 'FI_RMA']);
    const region = await b.domain.allocate(64, ['FI_REMOTE_WRITE']);
    region.bytes.fill(7);
    const remote = a.domain.remote(region.descriptor());
    const target = new Uint8Array(64);
    expect(await outcome(a.read(target, toB, remote, { timeout: SOON }))).not.toBe('done');
    expect(target).toEqual(new Uint8Array(64));
  },
);

const unchecked = [
  ['shm', 64],
  ['shm', 100_000],
  ['efa', 64],
  ['efa', 100_000],
] as const;

test.for(unchecked)(
  '%s of 1.17 within a host checks neither key nor access of a write or read of %i bytes',
  async ([provider, size], context) => {
    if (major > 1 && size < 4096) context.skip('the statement is about 1.17');
    const { a, b, toB } = await pair(context, provider, ['FI_MSG', 'FI_RMA']);
    const withWrongKey = async (right: 'FI_REMOTE_READ' | 'FI_REMOTE_WRITE') => {
      const region = await b.domain.allocate(size, [right]);
      const { key, address } = a.domain.remote(region.descriptor());
      return { region, remote: a.domain.remote({ key: key ^ 5n, address, length: size }) };
    };
    const readable = await withWrongKey('FI_REMOTE_READ');
    const limit = major < 2 ? {} : { timeout: SOON };
    await outcome(a.write(pattern(size), toB, readable.remote, limit));
    expect(readable.region.bytes.some((byte) => byte !== 0)).toBe(major < 2);
    if (major > 1) return;
    const writable = await withWrongKey('FI_REMOTE_WRITE');
    writable.region.bytes.fill(7);
    const target = new Uint8Array(size);
    await a.read(target, toB, writable.remote);
    expect(target).toEqual(new Uint8Array(size).fill(7));
  },
);
