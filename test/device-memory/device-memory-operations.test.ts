// Operations on memory of a GPU, as a dmabuf of softefa's device. The bytes around each transfer stay unchanged, and the
// host has no access to the memory: a copy by the host would end this process.
import { type DriverKind, type MemoryRegion, open } from 'libfabric';
import { beforeEach, describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { accessOf, FakeGpu, whyNoDmabuf } from '../support/device-memory.js';
import { drivers } from '../support/providers.js';
import { closing, Pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;
const REMOTE = ['FI_REMOTE_READ', 'FI_REMOTE_WRITE'] as const;
const MIB = 1 << 20;
const PAGE = 4096;
// The efa provider has a protocol of its own for each of these sizes.
const SIZES = [1, 32, 33, PAGE, 9000, 65_537, MIB];

async function connect(fabric: 'efa' | 'efa-direct', driver: DriverKind) {
  const options =
    fabric === 'efa'
      ? { FI_OPT_EFA_HOMOGENEOUS_PEERS: true, FI_OPT_SHARED_MEMORY_PERMITTED: false }
      : {};
  const opening = { provider: 'efa', fabric, caps: CAPS, driver, options } as const;
  const a = closing(await open(opening));
  return new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(a, closing(await open(opening)));
}

/** `bytes` with `part` at an offset. */
function changed(bytes: Uint8Array, part: Uint8Array, offset: number): Uint8Array {
  const result = bytes.slice();
  result.set(part, offset);
  return result;
}

/** Waits until a list has elements. */
async function waitFor<T>(list: () => T[]): Promise<T[]> {
  for (;;) {
    const found = list();
    if (found.length > 0) return found;
    await new Promise(setImmediate);
  }
}

function expectNoAccess(...regions: MemoryRegion[]): void {
  for (const region of regions) expect(accessOf(region)).toBe('---p');
}

describe.each(['efa', 'efa-direct'] as const)('%s', (fabric) => {
  beforeEach((context) => {
    const reason = whyNoDmabuf(fabric);
    context.skip(reason !== undefined, reason);
  });

  test.each(drivers)('writes from device memory and reads into it: %s driver', async (driver) => {
    const pair = await connect(fabric, driver);
    const { a, b, toB } = pair;
    const gpu = new FakeGpu(2 * MIB);
    const offset = 3 * PAGE + 100;
    const region = await a.domain.register(gpu.part(offset, MIB + 10), LOCAL);
    expect(region).toMatchObject({ length: MIB + 10, deviceAccess: 'FI_MR_DMABUF' });
    const host = await b.domain.allocate(MIB, REMOTE);
    const remote = a.domain.remote(host.descriptor());
    expectNoAccess(region);
    for (const size of SIZES) {
      const content = pattern(2 * MIB, size);
      gpu.fill(content);
      host.bytes.fill(0);
      await pair.done(a.write(region.slice(7, 7 + size), toB, remote));
      const sent = content.subarray(offset + 7, offset + 7 + size);
      expectBytes(host.bytes, changed(new Uint8Array(MIB), sent, 0));

      host.bytes.set(pattern(MIB, size + 1));
      await pair.done(a.read(region.slice(9, 9 + size), toB, remote));
      const read = pattern(MIB, size + 1).subarray(0, size);
      expectBytes(gpu.bytes(), changed(content, read, offset + 9));
    }
    expectNoAccess(region);
    await pair.done(region.close());
    expect(accessOf(region)).toBeUndefined();
  });

  test('batches and endpoint.post write from device memory, also when submitted again', async () => {
    const { a, b, toB } = await connect(fabric, 'thread');
    const gpu = new FakeGpu(MIB);
    const region = await a.domain.register(gpu.part(0, MIB), LOCAL);
    const host = await b.domain.allocate(MIB, REMOTE);
    const remote = a.domain.remote(host.descriptor());
    const batch = a.batch();
    for (let i = 0; i < 8; i++) {
      batch.write(region.slice(i * PAGE, (i + 1) * PAGE), toB, remote, { offset: (7 - i) * PAGE });
    }
    for (const seed of [1, 2, 3]) {
      gpu.fill(pattern(MIB, seed));
      await batch.submit();
      for (let i = 0; i < 8; i++) {
        const sent = pattern(MIB, seed).subarray(i * PAGE, (i + 1) * PAGE);
        expectBytes(host.bytes.subarray((7 - i) * PAGE, (8 - i) * PAGE), sent);
      }
    }
    batch.close();
    a.post.write(region.slice(5 * PAGE, 5 * PAGE + 100), toB, remote, { context: 'posted' });
    const [entry] = await waitFor(() => a.sendQueue.read());
    expect(entry?.context).toBe('posted');
    expectBytes(host.bytes.subarray(0, 100), pattern(MIB, 3).subarray(5 * PAGE, 5 * PAGE + 100));
    expectNoAccess(region);
  });
});

describe('efa-direct', () => {
  beforeEach((context) => {
    const reason = whyNoDmabuf('efa-direct');
    context.skip(reason !== undefined, reason);
  });

  test.each(drivers)('peers write device memory and read it: %s driver', async (driver) => {
    const pair = await connect('efa-direct', driver);
    const { a, b, toB } = pair;
    const gpu = new FakeGpu(2 * MIB);
    const region = await b.domain.register(gpu.part(PAGE + 8, MIB), REMOTE);
    const remote = a.domain.remote(region.descriptor());
    const host = await a.domain.allocate(MIB, LOCAL);
    for (const size of SIZES) {
      const content = pattern(2 * MIB, size);
      gpu.fill(content);
      host.bytes.set(pattern(MIB, size + 1));
      await pair.done(a.write(host.slice(0, size), toB, remote, { offset: MIB - size }));
      const sent = pattern(MIB, size + 1).subarray(0, size);
      expectBytes(gpu.bytes(), changed(content, sent, PAGE + 8 + MIB - size));

      gpu.fill(content);
      await pair.done(a.read(host.slice(0, size), toB, remote));
      expectBytes(host.bytes.subarray(0, size), content.subarray(PAGE + 8, PAGE + 8 + size));
    }
    expectNoAccess(region);
  });

  test('device memory is written to device memory, with data', async () => {
    const { a, b, toB } = await connect('efa-direct', 'thread');
    const [from, to] = [new FakeGpu(MIB), new FakeGpu(MIB)];
    from.fill(pattern(MIB, 5));
    const source = await a.domain.register(from.part(0, MIB), LOCAL);
    const target = await b.domain.register(to.part(0, MIB), REMOTE);
    const remote = a.domain.remote(target.descriptor());
    // With some devices the data consumes a receive.
    b.recv(new Uint8Array(8)).catch(() => {});
    await a.writedata(source, 77n, toB, remote);
    expectBytes(to.bytes(), pattern(MIB, 5));
    expectNoAccess(source, target);
  });

  test.each(drivers)(
    'messages are sent from device memory and received into it: %s driver',
    async (driver) => {
      const pair = await connect('efa-direct', driver);
      const { a, b, toB } = pair;
      const [from, to] = [new FakeGpu(4 * PAGE), new FakeGpu(4 * PAGE)];
      const source = await a.domain.register(from.part(0, 4 * PAGE), ['FI_SEND']);
      const target = await b.domain.register(to.part(0, 4 * PAGE), ['FI_RECV']);
      for (const size of [33, 100, PAGE, 8192]) {
        from.fill(pattern(4 * PAGE, size));
        to.fill(pattern(4 * PAGE, 1));
        const received = b.recv(target.slice(11, 8211));
        await pair.done(a.send(source.slice(5, 5 + size), toB));
        expect(await pair.done(received)).toMatchObject({ length: size });
        const sent = pattern(4 * PAGE, size).subarray(5, 5 + size);
        expectBytes(to.bytes(), changed(pattern(4 * PAGE, 1), sent, 11));
      }
      expectNoAccess(source, target);
    },
  );

  test('a message that arrives for an aborted receive into device memory is reported', async () => {
    const { a, b, toB } = await connect('efa-direct', 'thread');
    const gpu = new FakeGpu(PAGE);
    const region = await b.domain.register(gpu.part(0, PAGE), ['FI_RECV']);
    const aborted = b.recv(region, null, { timeout: 1 });
    await expect(aborted).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
    await a.send(new Uint8Array(64), toB);
    const [error] = await waitFor(() => b.receiveQueue.readErrors());
    expect(error?.message).toMatch(/arrived in device memory after its receive was aborted/);
  });
});
