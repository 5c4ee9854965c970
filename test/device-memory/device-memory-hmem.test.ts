// Pointers of CUDA by FI_HMEM, with a libfabric that was built with CUDA, over the fakes of the driver and the runtime.
// The host has no access to the memory. CONTRIBUTING.md has the commands that build such a libfabric without a toolkit.
import { getParams, open } from 'libfabric';
import type { CudaMemory } from 'libfabric/cuda';
import { softefaEnvironment } from 'libfabric/softefa';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../dist/cli/shared/result.js';
import { cudaMemoryOf, freedAfterwards } from '../support/cuda-memory.js';
import { calls, callsSince, loadFakeCuda, withFakeCuda } from '../support/fake-cuda.js';
import { sides } from '../support/sides.js';
import { closing, expectBytes, Pair, pattern } from '../support/transfer.js';

loadFakeCuda({ runtime: true });

const CAPS = ['FI_MSG', 'FI_RMA', 'FI_HMEM'] as const;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;
const MIB = 1 << 20;

beforeEach((context) => {
  const withCuda = getParams().some(({ name }) => name === 'FI_HMEM_CUDA_USE_GDRCOPY');
  context.skip(!withCuda, 'this libfabric was built without CUDA');
});
const keep = freedAfterwards();
const memoryOf = (content: Uint8Array) => keep(cudaMemoryOf(content));

const bytesOf = (memory: CudaMemory) => memory.read(new Uint8Array(memory.byteLength));

describe.each(['efa', 'efa-direct'] as const)('%s', (fabric) => {
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
      await a.read(source.slice(0, 1), toB, remote); // after it, the write can be seen
      expectBytes(bytesOf(to), expected(size, size));
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

test('efa: rma-bw -D cuda uses FI_HMEM', async () => {
  const env = { ...withFakeCuda(), ...softefaEnvironment({ memlock: 'unlimited' }) };
  const args = ['-D', 'cuda', '-v', '-S', 'l:64,5000', '-I', '50', '-W', '16', '--json'];
  const { server, client } = await sides('rma-bw', args, env);
  for (const { code, stderr } of [server, client])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { options, rows } = JSON.parse(client.stdout) as BenchmarkResult;
  expect(options.memory).toMatch(/^CUDA device 0 \(fake GPU 0 .*\), FI_HMEM_CUDA$/);
  expect(rows).toHaveLength(2);
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
