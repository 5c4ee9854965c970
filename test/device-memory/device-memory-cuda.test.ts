// Memory of libfabric/cuda, over the fake of the driver, as a dmabuf of softefa's device. The host has no access to the
// memory: a copy by the host would end this process.
import { open } from 'libfabric';
import { allocate, type CudaMemory, exportDmabuf } from 'libfabric/cuda';
import { beforeEach, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { cudaMemoryOf, freedAfterwards } from '../support/cuda-memory.js';
import { accessOf, whyNoDmabuf } from '../support/device-memory.js';
import { enginePair } from '../support/engines.js';
import { held, loadFakeCuda } from '../support/fake-cuda.js';
import { closing, fabricError, Pair } from '../support/transfer.js';

loadFakeCuda();

const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;
const MIB = 1 << 20;

beforeEach((context) => {
  const reason = whyNoDmabuf('efa-direct');
  context.skip(reason !== undefined, reason);
});
const memoryOf = (content: Uint8Array) => freedAfterwards(cudaMemoryOf(content));

async function connect() {
  const opening = { provider: 'efa', fabric: 'efa-direct', caps: CAPS } as const;
  const a = closing(await open(opening));
  return new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(a, closing(await open(opening)));
}

const bytesOf = (memory: CudaMemory) => memory.read(new Uint8Array(memory.byteLength));

test('efa-direct: memory of CUDA is written to memory of CUDA, and read back', async () => {
  const { a, b, toB } = await connect();
  const [from, to] = [memoryOf(pattern(MIB, 1)), memoryOf(pattern(MIB, 2))];
  using near = from.dmabuf();
  using far = to.dmabuf();
  const source = await a.domain.register(near, LOCAL);
  const target = await b.domain.register(far, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
  const remote = a.domain.remote(target.descriptor());
  await a.write(source.slice(100, 65_637), toB, remote, { offset: 33 });
  const expected = pattern(MIB, 2);
  expected.set(pattern(MIB, 1).subarray(100, 100 + 65_537), 33);
  expectBytes(bytesOf(to), expected);
  expectBytes(bytesOf(from), pattern(MIB, 1));

  await a.read(source.slice(4096, 14_096), toB, remote, { offset: 5 });
  const read = pattern(MIB, 1);
  read.set(expected.subarray(5, 10_005), 4096);
  expectBytes(bytesOf(from), read);
  for (const region of [source, target]) expect(accessOf(region)).toBe('---p');
});

test('efa-direct: messages go from memory of CUDA into memory of CUDA', async () => {
  const { a, b, toB } = await connect();
  const [from, to] = [memoryOf(pattern(8192, 3)), memoryOf(pattern(8192, 4))];
  using near = exportDmabuf({
    type: 'cuda',
    pointer: from.pointer + 50n,
    byteLength: 8000,
    device: 0,
  });
  using far = to.dmabuf();
  const source = await a.domain.register(near, ['FI_SEND']);
  const target = await b.domain.register(far, ['FI_RECV']);
  const received = b.recv(target.slice(7, 8007));
  await a.send(source.slice(0, 5000), toB);
  expect(await received).toMatchObject({ length: 5000 });
  const expected = pattern(8192, 4);
  expected.set(pattern(8192, 3).subarray(50, 5050), 7);
  expectBytes(bytesOf(to), expected);
});

test('efa-direct: a dmabuf may start within an allocation', async () => {
  const { a, b, toB } = await connect();
  const [from, to] = [memoryOf(pattern(MIB, 8)), memoryOf(pattern(MIB, 9))];
  const within = (memory: CudaMemory, offset: number) =>
    exportDmabuf({
      type: 'cuda',
      pointer: memory.pointer + BigInt(offset),
      byteLength: 9000,
      device: 0,
    });
  using near = within(from, 70_001);
  using far = within(to, 500_000);
  expect([near.offset, far.offset]).toEqual([70_001 % 4096, 500_000 % 4096]);
  const source = await a.domain.register(near, LOCAL);
  const target = await b.domain.register(far, ['FI_REMOTE_WRITE']);
  await a.write(source, toB, a.domain.remote(target.descriptor()));
  const expected = pattern(MIB, 9);
  expected.set(pattern(MIB, 8).subarray(70_001, 79_001), 500_000);
  expectBytes(bytesOf(to), expected);
});

test('efa-direct: a region outlives the descriptor and the memory of the driver', async () => {
  const { a, b, toB } = await connect();
  const before = held();
  const memory = allocate(8192);
  memory.write(pattern(8192, 5));
  const dmabuf = memory.dmabuf();
  const registering = a.domain.register(dmabuf, LOCAL);
  dmabuf.close();
  const source = await registering;
  memory.free();
  const host = await b.domain.allocate(8192, ['FI_REMOTE_WRITE']);
  await a.write(source, toB, a.domain.remote(host.descriptor()));
  expectBytes(host.bytes.slice(), pattern(8192, 5));
  await source.close();
  await host.close();
  expect(held()).toMatchObject({ memory: before.memory, descriptors: before.descriptors });
});

test('efa-direct: the memory itself needs FI_HMEM, and a closed dmabuf is refused', async () => {
  const { a } = await connect();
  const memory = memoryOf(pattern(4096));
  await expect(a.domain.register(memory, LOCAL)).rejects.toEqual(fabricError('FI_EOPNOTSUPP'));
  const dmabuf = memory.dmabuf();
  dmabuf.close();
  await expect(a.domain.register(dmabuf, LOCAL)).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});

test('efa-direct: a transfer engine moves memory of CUDA', async () => {
  const { a, b, toA, toB } = await enginePair({ provider: 'efa', fabric: 'efa-direct' });
  const [from, to] = [memoryOf(pattern(MIB, 6)), memoryOf(pattern(MIB, 7))];
  using near = from.dmabuf();
  using far = to.dmabuf();
  const source = await a.register(near);
  const target = await b.register(far);
  const offer = await target.offer({ access: 'write', to: toA });
  await toB.write(source, offer.token);
  await offer.arrived;
  expectBytes(bytesOf(to), pattern(MIB, 6));
});
