// libfabric/cuda and device memory with a real driver and, where there is one, an EFA: npm run suite -- gpu. Without them
// the tests are skipped with the reason. The tests in test/cuda and test/device-memory need neither.
import { existsSync, readFileSync } from 'node:fs';
import { getInfo, open } from 'libfabric';
import {
  allocate,
  type CudaMemory,
  devices,
  driverVersion,
  exportDmabuf,
  isAvailable,
  pointerAttributes,
  whyNoDevices,
} from 'libfabric/cuda';
import { beforeEach, describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { freedAfterwards } from '../support/cuda-memory.js';
import { sides } from '../support/sides.js';

const MIB = 1 << 20;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;
const REMOTE = ['FI_REMOTE_READ', 'FI_REMOTE_WRITE'] as const;

function memoryOf(byteLength: number): CudaMemory {
  return freedAfterwards(allocate(byteLength));
}

// Not with softefa, as other tests do: it cannot reach the memory of a GPU.
async function openDirect() {
  const caps = ['FI_MSG', 'FI_RMA'] as const;
  const ep = await open({ provider: 'efa', fabric: 'efa-direct', caps });
  onTestFinished(() => ep.close());
  return ep;
}

const same = (memory: CudaMemory, expected: Uint8Array) =>
  Buffer.compare(memory.read(Buffer.alloc(memory.byteLength)), expected) === 0;

beforeEach((context) => {
  context.skip(!isAvailable(), `no GPU: ${whyNoDevices()?.message.split('\n')[0]}`);
});

test('every device has a place on the PCI bus', () => {
  expect(driverVersion()).toMatch(/^\d+\.\d$/);
  for (const { index, name, pciAddress, memory, computeCapability } of devices()) {
    expect(name).not.toBe('');
    expect(memory).toBeGreaterThan(MIB);
    expect(computeCapability).toMatch(/^\d+\.\d$/);
    const vendor = `/sys/bus/pci/devices/${pciAddress}/vendor`;
    if (existsSync(vendor)) expect(readFileSync(vendor, 'utf8').trim()).toBe('0x10de');
    allocate(1, { device: index }).free();
  }
});

test('memory is filled, written and read, byte by byte', () => {
  const memory = memoryOf(5 * MIB + 3);
  const expected = Buffer.alloc(memory.byteLength, 0xa5);
  memory.fill(0xa5);
  memory.write(pattern(MIB, 1), 12_345);
  expected.set(pattern(MIB, 1), 12_345);
  memory.fill(7, MIB, MIB + 1);
  expected[MIB] = 7;
  expect(same(memory, expected)).toBe(true);
});

test('pointers inside of memory and elsewhere', () => {
  const memory = memoryOf(MIB);
  const { pointer } = memory;
  expect(pointerAttributes(pointer + 5n)).toMatchObject({
    type: 'device',
    device: 0,
    start: pointer,
  });
  expect(pointerAttributes(1n)).toBeNull();
  memory.free();
  expect(pointerAttributes(pointer)).toBeNull();
});

test('too much memory and a missing device have typed errors', () => {
  expect(() => allocate(2 ** 50)).toThrow(/CUDA_ERROR_OUT_OF_MEMORY: .*cuMemAlloc/);
  expect(() => allocate(1, { device: 1000 })).toThrow(/CUDA_ERROR_INVALID_DEVICE/);
});

describe('as a dmabuf', () => {
  beforeEach((context) => {
    const [device] = devices();
    context.skip(device?.dmabuf !== true, 'the driver exports no dmabufs: npx libfabric doctor');
  });

  test('memory has a descriptor of a dmabuf, also from an address within it', () => {
    const { pointer } = memoryOf(4 * MIB);
    for (const offset of [0n, 100n, 65_536n + 7n]) {
      using dmabuf = exportDmabuf({
        type: 'cuda',
        pointer: pointer + offset,
        byteLength: MIB,
        device: 0,
      });
      expect(readFileSync(`/proc/self/fdinfo/${dmabuf.fd}`, 'utf8')).toMatch(/exp_name:/);
      expect(dmabuf.offset).toBe(Number((pointer + offset) % 4096n));
    }
  });

  describe('efa-direct of an EFA', () => {
    beforeEach((context) => needsEfa(context));

    test('an EFA writes it, reads it, and sends it', async () => {
      const [a, b] = [await openDirect(), await openDirect()];
      const toB = a.av.insert(b.address);
      b.av.insert(a.address);
      const [from, to] = [memoryOf(4 * MIB), memoryOf(4 * MIB)];
      using near = from.dmabuf();
      using far = to.dmabuf();
      const source = await a.domain.register(near, LOCAL);
      const target = await b.domain.register(far, [...LOCAL, ...REMOTE]);
      const remote = a.domain.remote(target.descriptor());
      for (const size of [1, 4096, 65_537, 4 * MIB]) {
        from.write(pattern(4 * MIB, size));
        to.fill(0);
        const expected = Buffer.alloc(4 * MIB);
        expected.set(pattern(4 * MIB, size).subarray(0, size));
        await a.write(source.slice(0, size), toB, remote);
        await a.read(source.slice(0, 1), toB, remote); // after it, the write can be seen
        expect(same(to, expected), `write of ${size}`).toBe(true);
        from.fill(0);
        await a.read(source.slice(0, size), toB, remote);
        expect(same(from, expected), `read of ${size}`).toBe(true);
      }
      from.write(pattern(8192, 3));
      const received = b.recv(target.slice(0, 8192));
      await a.send(source.slice(0, 8000), toB);
      expect(await received).toMatchObject({ length: 8000 });
      const start = to.read(Buffer.alloc(8000));
      expect(Buffer.compare(start, pattern(8192, 3).subarray(0, 8000))).toBe(0);
    });

    test.for(['rma-bw -D cuda -R -v', 'rma-bw -D cuda -v', 'rdm-pingpong -D cuda -v'])(
      '%s',
      async (line) => {
        const [command = '', ...args] = line.split(' ');
        const size = ['-S', 'l:64,4096,8000', '-I', '100'];
        const { server, client } = await sides(command, [...args, '-p', 'efa', ...size]);
        for (const { code, stderr } of [server, client])
          expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      },
    );
  });
});

function needsEfa(context: TestContext): void {
  const hints = { fabricAttr: { provName: 'efa', name: 'efa-direct' }, caps: ['FI_RMA'] } as const;
  const found = getInfo(hints);
  context.skip(found.length === 0, 'no EFA with efa-direct and RDMA: npx libfabric doctor');
}
