import { type MemoryRegion, type RemoteRegion, version } from 'libfabric';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectRejected,
  expectThrown,
  expectTyped,
  expectWorking,
  openLoopback,
  refusalOf,
} from '../support/bad-input.js';

let loopback: Awaited<ReturnType<typeof openLoopback>>;
let region: MemoryRegion;

beforeAll(async () => {
  loopback = await openLoopback();
  region = await loopback.ep.domain.allocate(4096, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
});
afterAll(async () => {
  await loopback.ep.close();
});

/** Returns a descriptor with some fields changed. */
function descriptor(change: { key?: bigint; address?: bigint; length?: bigint }): Uint8Array {
  const bytes = region.descriptor();
  const view = new DataView(bytes.buffer);
  if (change.key !== undefined) view.setBigUint64(8, change.key, true);
  if (change.address !== undefined) view.setBigUint64(16, change.address, true);
  if (change.length !== undefined) view.setBigUint64(24, change.length, true);
  return bytes;
}

describe('remote() refuses descriptors', () => {
  test('of every other length', async () => {
    const whole = new Uint8Array(64);
    whole.set(region.descriptor());
    for (let length = 0; length <= 64; length++) {
      if (length === 32) continue;
      await expectThrown(() => loopback.ep.domain.remote(whole.subarray(0, length)), /32 bytes/);
    }
  });

  test('with any bit of magic, version or padding flipped', async () => {
    for (let bit = 0; bit < 64; bit++) {
      const bytes = region.descriptor();
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      await expectThrown(() => loopback.ep.domain.remote(bytes), /descriptor/);
    }
  });

  test.each([
    { length: 2n ** 53n },
    { length: 2n ** 64n - 1n },
    { address: 2n ** 64n - 1n, length: 2n },
    { address: 2n ** 64n - 4096n, length: 4097n },
  ])('of a region that cannot exist: %o', async (change) => {
    await expectThrown(() => loopback.ep.domain.remote(descriptor(change)), /cannot exist/);
  });

  test('of 32 random bytes, 500 times', async () => {
    let seed = 3;
    const next = () => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return seed >>> 24;
    };
    for (let i = 0; i < 500; i++) {
      const bytes = Uint8Array.from({ length: 32 }, next);
      await expectThrown(() => loopback.ep.domain.remote(bytes), /descriptor/);
    }
  });
});

describe('operations with forged descriptors', () => {
  // shm (libfabric 1.17) loses the context of a failed direct write or read, so that only the signal ends its
  // promise. It completes a failed write with data as successful.
  async function expectHarmless(remote: RemoteRegion): Promise<void> {
    const { ep, self } = loopback;
    const bytes = new Uint8Array(64);
    const options = () => ({ signal: AbortSignal.timeout(200) });
    for (const call of [
      () => ep.write(bytes, self, remote, options()),
      () => ep.read(bytes, self, remote, options()),
      () => ep.writev([bytes, bytes], self, remote, options()),
      () => ep.injectWrite(bytes, self, remote),
    ]) {
      const { how, error } = await refusalOf(call);
      expect(how).toBe('rejected');
      if (error.name !== 'TimeoutError') expectTyped(error);
    }
    await refusalOf(() => ep.writedata(bytes, 1n, self, remote, options()));
    await expectWorking(ep, self);
    expect(ep.receiveQueue.readErrors().every(({ code }) => code === 'FI_EIO')).toBe(true);
  }

  // Addresses where no process has memory: shm accesses them without a check of the key.
  test.for([
    ['the zero page', { address: 0n, length: 4096n }],
    ['the last page of the address space', { address: 2n ** 64n - 4096n, length: 4096n }],
    ['the kernel', { address: 0xffff_8000_0000_0000n, length: 4096n }],
    ['a hole in the address space', { address: 0x0000_9000_0000_0000n, length: 2n ** 40n }],
  ] as const)('of %s fail', async ([, change], context) => {
    if (version().major >= 2)
      context.skip('after shm has refused a write, its endpoint receives nothing more');
    await expectHarmless(loopback.ep.domain.remote(descriptor(change)));
  });

  test('beyond the length in the descriptor are refused', async () => {
    const remote = loopback.ep.domain.remote(descriptor({ length: 16n }));
    const { ep, self } = loopback;
    await ep.write(new Uint8Array(16), self, remote);
    await expectRejected(() => ep.write(new Uint8Array(17), self, remote), /offset \+ length/);
    await expectRejected(
      () => ep.write(new Uint8Array(8), self, remote, { offset: 2 ** 53 - 1 }),
      /offset \+ length/,
    );
    await expectRejected(() => ep.read(new Uint8Array(0), self, remote, { offset: 17 }), /offset/);
  });
});
