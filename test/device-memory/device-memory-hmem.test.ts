// Pointers of CUDA by FI_HMEM, with a libfabric that was built with CUDA, over the fakes of the driver and the runtime.
// The host has no access to the memory. `npm run suite -- hmem` builds such a libfabric without a toolkit.
import { join } from 'node:path';
import koffi from 'koffi';
import { open } from 'libfabric';
import type { CudaMemory } from 'libfabric/cuda';
import { softefaEnvironment } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../dist/cli/shared/result.js';
import { expectBytes, pattern } from '../support/bytes.js';
import { cudaMemoryOf, freedAfterwards } from '../support/cuda-memory.js';
import { whyNoCuda } from '../support/device-memory.js';
import { enginePair } from '../support/engines.js';
import {
  calls,
  callsSince,
  fakeCudaFolder,
  held,
  loadFakeCuda,
  withFakeCuda,
} from '../support/fake-cuda.js';
import { sides } from '../support/sides.js';
import { closing, endpoint, Pair, pair } from '../support/transfer.js';

loadFakeCuda({ runtime: true });

const CAPS = ['FI_MSG', 'FI_RMA', 'FI_HMEM'] as const;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;
const MIB = 1 << 20;

const skipWithout = (fabric: 'efa' | 'efa-direct') =>
  beforeEach((context) => {
    const reason = whyNoCuda(fabric);
    context.skip(reason !== undefined, reason);
  });

skipWithout('efa');
const memoryOf = (content: Uint8Array) => freedAfterwards(cudaMemoryOf(content));

// A write or an atomic may complete before its bytes are in the peer's memory, if the peer's provider copies them there.
async function expectArrival(memory: CudaMemory, expected: Uint8Array, read: () => Promise<void>) {
  for (let i = 0; i < 1000 && Buffer.compare(bytesOf(memory), expected) !== 0; i++) await read();
  expectBytes(bytesOf(memory), expected);
}

const bytesOf = (memory: CudaMemory) => memory.read(new Uint8Array(memory.byteLength));

describe.each(['efa', 'efa-direct'] as const)('%s', (fabric) => {
  skipWithout(fabric);

  test('RMA and messages of all sizes, byte by byte', async () => {
    const opening = { provider: 'efa', fabric, caps: CAPS } as const;
    const a = closing(await open(opening));
    const { b, toB } = new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(
      a,
      closing(await open(opening)),
    );
    const [from, to] = [memoryOf(pattern(MIB, 1)), memoryOf(new Uint8Array(MIB))];
    const source = await a.domain.register(from, LOCAL);
    const target = await b.domain.register(to, ['FI_RECV', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    expect(source.deviceAccess).toBe('FI_HMEM_CUDA');
    const remote = a.domain.remote(target.descriptor());
    const expected = (size: number, seed: number) => {
      const bytes = new Uint8Array(MIB);
      bytes.set(pattern(MIB, seed).subarray(0, size));
      return bytes;
    };
    for (const size of [1, 32, 33, 4096, 9000, 65_537, MIB]) {
      from.write(pattern(MIB, size));
      to.fill(0);
      await a.write(source.slice(0, size), toB, remote);
      const read = () => a.read(source.slice(0, 1), toB, remote);
      await expectArrival(to, expected(size, size), read);
      from.fill(0);
      await a.read(source.slice(0, size), toB, remote);
      expectBytes(bytesOf(from), expected(size, size));
      if (fabric === 'efa-direct' && size > 8192) continue;
      to.fill(0);
      from.write(pattern(MIB, size + 1));
      const received = b.recv(target);
      await a.send(source.slice(0, size), toB);
      expect(await received).toMatchObject({ length: size });
      expectBytes(bytesOf(to), expected(size, size + 1));
    }
    for (const region of [source, target]) await region.close();
  });
});

test('efa: tagged messages, batches and atomics', async () => {
  const caps = ['FI_MSG', 'FI_TAGGED', 'FI_RMA', 'FI_ATOMIC', 'FI_HMEM'] as const;
  const opening = { provider: 'efa', fabric: 'efa', caps } as const;
  const a = closing(await open(opening));
  const { b, toB } = new Pair<'FI_EP_RDM', (typeof caps)[number]>(a, closing(await open(opening)));
  const [from, to] = [memoryOf(pattern(MIB, 1)), memoryOf(new Uint8Array(MIB))];
  const source = await a.domain.register(from, LOCAL);
  const target = await b.domain.register(to, ['FI_RECV', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
  const remote = a.domain.remote(target.descriptor());
  const expected = new Uint8Array(MIB);

  for (const size of [10, 5000, 100_000]) {
    const received = b.trecv(target.slice(size, 2 * size), null, 7n);
    await a.tsend(source.slice(1, 1 + size), toB, 7n);
    expect(await received).toMatchObject({ length: size });
    expected.set(pattern(MIB, 1).subarray(1, 1 + size), size);
  }
  expectBytes(bytesOf(to), expected);

  const batch = a.batch();
  for (let i = 0; i < 20; i++) {
    batch.write(source.slice(i * 100, (i + 1) * 100), toB, remote, { offset: 300_000 + i * 100 });
  }
  await batch.submit();
  const read = () => a.read(source.slice(0, 1), toB, remote);
  expected.set(pattern(MIB, 1).subarray(0, 2000), 300_000);
  await expectArrival(to, expected, read);

  const words = (...values: bigint[]) => new Uint8Array(BigUint64Array.from(values).buffer);
  from.write(words(5n, 7n));
  to.write(words(10n, 100n), 512);
  const options = { datatype: 'FI_UINT64', op: 'FI_SUM', offset: 512 } as const;
  const before = new BigUint64Array(2);
  for (let i = 0; i < 2; i++) {
    await a.fetchAtomic(source.slice(0, 16), before, toB, remote, options);
  }
  expect([...before]).toEqual([15n, 107n]);
  await a.atomic(source.slice(0, 16), toB, remote, options);
  expected.set(words(25n, 121n), 512);
  await expectArrival(to, expected, () => a.read(source.slice(100, 101), toB, remote));

  await expect(a.send(source.slice(0, 8), toB, { flags: ['FI_INJECT'] })).rejects.toMatchObject({
    code: 'FI_EOPNOTSUPP',
  });
});

describe.each(['efa', 'efa-direct'] as const)('%s: a transfer engine', (fabric) => {
  skipWithout(fabric);

  test('moves memory of CUDA by its pointer, in slices and of any part', async () => {
    const before = held();
    const { a, b, toA, toB } = await enginePair({
      ...{ provider: 'efa', fabric, hmem: true, slice: 65_536 },
    });
    const [near, far] = [memoryOf(new Uint8Array(MIB)), memoryOf(new Uint8Array(MIB))];
    const from = await a.register(near);
    const into = await b.register(far);
    for (const [seed, offset, length] of [
      [1, 0, MIB],
      [2, 12_345, 300_000],
      [3, 7, 100],
    ] as const) {
      near.write(pattern(MIB, seed));
      far.fill(0);
      const part = into.slice(offset, offset + length);
      const offer = await part.offer({ access: 'write', to: toA });
      await toB.write(from.slice(offset, offset + length), offer.token);
      await offer.arrived;
      const expected = new Uint8Array(MIB);
      expected.set(pattern(MIB, seed).subarray(offset, offset + length), offset);
      expectBytes(bytesOf(far), expected);

      near.fill(0);
      const back = await part.offer({ access: 'read', to: toA });
      await toB.read(back.token, from.slice(offset, offset + length));
      expectBytes(bytesOf(near), expected);
    }
    for (const memory of [from, into]) await memory.close();
    await Promise.all([a.close(), b.close()]);
    for (const memory of [near, far]) memory.free();
    expect(held()).toMatchObject({ memory: before.memory, maps: before.maps });
  });
});

test('efa: a transfer engine with FI_HMEM writes to memory of the host of one without it', async () => {
  const a = closing(await TransferEngine.open({ provider: 'efa', hmem: true }));
  const b = closing(await TransferEngine.open({ provider: 'efa' }));
  const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
  const source = await a.register(memoryOf(pattern(MIB, 3)));
  const target = await b.allocate(MIB);
  const offer = await target.offer({ access: 'write', to: toA });
  await toB.write(source, offer.token);
  await offer.arrived;
  expectBytes(target.bytes, pattern(MIB, 3));
});

test.each([
  { more: ['-v'], nics: 1 },
  { more: ['--nics', 'all'], nics: 2 },
])('efa: rma-bw -D cuda uses FI_HMEM over $nics NICs', async ({ more, nics }) => {
  const env = { ...withFakeCuda(), ...softefaEnvironment({ memlock: 'unlimited', nics }) };
  const args = ['-D', 'cuda', ...more, '-S', 'l:64,5000', '-I', '50', '-W', '16', '--json'];
  const { server, client } = await sides('rma-bw', args, env);
  for (const { code, stderr } of [server, client])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { options, rows } = JSON.parse(client.stdout) as BenchmarkResult;
  expect(options.memory).toMatch(/^CUDA device 0 \(fake GPU 0 .*\), FI_HMEM_CUDA$/);
  expect(rows).toHaveLength(2);
  expect(rows[0]?.nics?.length ?? 1).toBe(nics);
});

test('efa-direct: rdm-bw -D cuda uses FI_HMEM', async (context) => {
  const reason = whyNoCuda('efa-direct');
  context.skip(reason !== undefined, reason);
  const env = { ...withFakeCuda(), ...softefaEnvironment({ memlock: 'unlimited' }) };
  const args = ['-f', 'efa-direct', '-D', 'cuda', '-v', '-S', 'l:8,8000', '-I', '50', '--json'];
  const { server, client } = await sides('rdm-bw', args, env);
  for (const { code, stderr } of [server, client])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { options } = JSON.parse(client.stdout) as BenchmarkResult;
  expect(options.memory).toMatch(/, FI_HMEM_CUDA$/);
});

test('efa: memory that koffi allocates with the runtime of CUDA is registered', async (context) => {
  const cuda = koffi.load(join(fakeCudaFolder, 'libcudart.so'));
  const cudaMalloc = cuda.func('int cudaMalloc(_Out_ void **pointer, size_t size)');
  const cudaFree = cuda.func('int cudaFree(void *pointer)');
  const out = [0n];
  expect(cudaMalloc(out, MIB)).toBe(0);
  const [pointer = 0n] = out;
  const ep = await endpoint(context, 'efa', CAPS);
  const memory = { type: 'cuda', pointer, byteLength: MIB, device: 0 } as const;
  const region = await ep.domain.register(memory, LOCAL);
  expect(region.deviceAccess).toBe('FI_HMEM_CUDA');
  await region.close();
  expect(cudaFree(pointer)).toBe(0);
});

test('efa: CUDA finds the memory by its pointer, whatever the number of the device', async (context) => {
  const { a, b, toB } = await pair(context, 'efa', CAPS);
  const { pointer, byteLength } = memoryOf(pattern(4096, 3));
  const memory = { type: 'cuda', pointer, byteLength, device: 99 } as const;
  const region = await a.domain.register(memory, LOCAL);
  const into = new Uint8Array(4096);
  const received = b.recv(into);
  await a.send(region, toB);
  await received;
  expectBytes(into, pattern(4096, 3));
  await region.close();
});

// The last test: libfabric 2.6 then registers no more dmabufs of CUDA (efa_mr_reg_ibv_mr in prov/efa/src/efa_mr.c).
test('efa: a pointer that is none of CUDA is refused', async () => {
  const ep = closing(await open({ provider: 'efa', caps: CAPS }));
  const before = calls();
  const memory = { type: 'cuda', pointer: 0x7000_0000_0000n, byteLength: 4096, device: 0 } as const;
  await expect(ep.domain.register(memory, LOCAL)).rejects.toMatchObject({
    syscall: 'fi_mr_regattr',
  });
  expect(callsSince(before).cuMemGetHandleForAddressRange).toBeUndefined();
});
