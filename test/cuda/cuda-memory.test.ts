// libfabric/cuda over the fake of the driver: devices, memory, pointers, dmabufs.
import { fstatSync, mkdirSync, mkdtempSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectClosed, expectNotInherited, expectOwn } from '../support/accelerator.js';
import { pattern } from '../support/bytes.js';
import { freedAfterwards } from '../support/cuda-memory.js';
import { calls, callsSince, held, loadFakeCuda } from '../support/fake-cuda.js';

loadFakeCuda();

/** Memory that is freed after the test. */
function memoryOf(byteLength: number, device = 0): CudaMemory {
  return freedAfterwards(allocate(byteLength, { device }));
}

describe('devices', () => {
  test('their names, PCI addresses and abilities', () => {
    process.env.FAKE_CUDA_DEVICES = '2';
    process.env.FAKE_CUDA_PCI = '0000:1B:00.0,0001:9C:00.0';
    expect(devices()).toEqual([
      {
        index: 0,
        name: "fake GPU 0 (a test's libcuda)",
        pciAddress: '0000:1b:00.0',
        numaNode: null,
        memory: 2 ** 30,
        computeCapability: '9.0',
        gpuDirectRdma: false,
        dmabuf: true,
      },
      expect.objectContaining({ index: 1, pciAddress: '0001:9c:00.0' }),
    ]);
    expect(isAvailable()).toBe(true);
    expect(whyNoDevices()).toBeNull();
    expect(driverVersion()).toBe('12.4');
  });

  test('the NUMA node from sysfs', () => {
    const sysfs = mkdtempSync(join(tmpdir(), 'libfabric-sysfs-'));
    onTestFinished(() => {
      delete process.env.SYSFS_PATH;
      rmSync(sysfs, { recursive: true });
    });
    const place = join(sysfs, 'bus/pci/devices/0001:9c:00.0');
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'numa_node'), '1\n');
    process.env.SYSFS_PATH = sysfs;
    process.env.FAKE_CUDA_DEVICES = '2';
    process.env.FAKE_CUDA_PCI = '0000:1B:00.0,0001:9C:00.0';
    expect(devices().map(({ numaNode }) => numaNode)).toEqual([null, 1]);
  });

  test('a driver without a device', () => {
    process.env.FAKE_CUDA_DEVICES = '0';
    expect(devices()).toEqual([]);
    expect(isAvailable()).toBe(false);
    expect(whyNoDevices()).toEqual({
      code: 'ERR_NO_CUDA_DEVICE',
      message: expect.stringMatching(/CUDA_VISIBLE_DEVICES/),
    });
  });
});

describe('memory', () => {
  test('every byte is written, filled and read where it should be', () => {
    const memory = memoryOf(10_000);
    memory.fill(0xaa);
    memory.write(pattern(1000), 5000);
    memory.fill(0x55, 5100, 5200);
    const expected = new Uint8Array(10_000).fill(0xaa);
    expected.set(pattern(1000), 5000);
    expected.fill(0x55, 5100, 5200);
    expect(memory.read(new Uint8Array(10_000))).toEqual(expected);
    expect(memory.read(Buffer.alloc(300), 5050)).toEqual(
      Buffer.from(expected.subarray(5050, 5350)),
    );
    expect(new Uint8Array(memory.read(new ArrayBuffer(10), 9990))).toEqual(expected.subarray(9990));
    expect(memory.read(new Float32Array(2), 5100)).toHaveLength(2);
  });

  test('writes and fills are complete when the call returns', () => {
    const memory = memoryOf(4096);
    const before = calls();
    memory.fill(1);
    memory.write(pattern(10));
    expect(callsSince(before)).toMatchObject({ cuStreamSynchronize: 2 });
    using dmabuf = memory.dmabuf();
    const bytes = new Uint8Array(12);
    readSync(dmabuf.fd, bytes, 0, 12, 0);
    expect([...bytes]).toEqual([...pattern(10), 1, 1]);
  });

  test('no bytes at all, and ranges up to the end', () => {
    const memory = memoryOf(16);
    const before = calls();
    memory.fill(1, 16);
    memory.fill(1, 3, 3);
    memory.write(new Uint8Array(0), 16);
    memory.read(new Uint8Array(0), 16);
    expect(callsSince(before)).toEqual({});
    memory.fill(9, 15, 16);
    expect(memory.read(new Uint8Array(1), 15)).toEqual(Uint8Array.of(9));
  });

  test('is of its device', () => {
    process.env.FAKE_CUDA_DEVICES = '3';
    const memory = memoryOf(100, 2);
    expect(memory).toMatchObject({ type: 'cuda', byteLength: 100, device: 2, freed: false });
    expect(pointerAttributes(memory.pointer)).toMatchObject({ device: 2, start: memory.pointer });
  });

  test('is freed once, and every later call fails', () => {
    const before = held();
    const start = calls();
    const memory = freedAfterwards(allocate(8192));
    {
      using _ = memory;
      expect(held()).toMatchObject({ memory: before.memory + 1, maps: before.maps + 1 });
    }
    memory.free();
    memory[Symbol.dispose]();
    expect(memory.freed).toBe(true);
    expect(callsSince(start)).toMatchObject({ cuMemFree: 1, cuDevicePrimaryCtxRelease: 1 });
    expect(held()).toEqual(before);
    expectClosed(memory);
  });

  test('methods on other objects, and constructors', () => {
    const memory = memoryOf(64);
    using dmabuf = memory.dmabuf();
    expectOwn(memory, dmabuf);
  });
});

describe('pointers', () => {
  test('inside of memory, before it, behind it, and after it was freed', () => {
    const memory = memoryOf(8192);
    const { pointer } = memory;
    const found = { type: 'device', device: 0, start: pointer, byteLength: 8192 };
    expect(pointerAttributes(pointer + 5000n)).toEqual(found);
    expect(pointerAttributes(pointer - 1n)).toBeNull();
    expect(pointerAttributes(pointer + 8192n)).toBeNull();
    expect(pointerAttributes(0n)).toBeNull();
    expect(pointerAttributes(2n ** 64n - 1n)).toBeNull();
    memory.free();
    expect(pointerAttributes(pointer)).toBeNull();
  });

  test('memory of the host and managed memory are recognized, and have no dmabuf', () => {
    const { pointer } = memoryOf(8192);
    for (const type of ['host', 'managed']) {
      process.env.FAKE_CUDA_MEMORY = type;
      expect(pointerAttributes(pointer)).toMatchObject({ type });
      const memory = { type: 'cuda', pointer, byteLength: 1, device: 0 } as const;
      expect(() => exportDmabuf(memory)).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
      );
    }
  });
});

describe('dmabufs', () => {
  test('a part of memory has its offset in the dmabuf, whose descriptor is closed once', () => {
    const { pointer } = memoryOf(8192);
    const before = held();
    const dmabuf = exportDmabuf({
      type: 'cuda',
      pointer: pointer + 100n,
      byteLength: 5000,
      device: 0,
    });
    expect(dmabuf).toMatchObject({ type: 'dmabuf', offset: 100, byteLength: 5000 });
    expect(fstatSync(dmabuf.fd).size).toBe(8192);
    expectNotInherited(dmabuf);
    expect(held().descriptors).toBe(before.descriptors + 1);
    dmabuf.close();
    dmabuf[Symbol.dispose]();
    expect(held()).toEqual(before);
    expect(() => dmabuf.fd).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  });

  test('wrong pointers, lengths and devices', () => {
    process.env.FAKE_CUDA_DEVICES = '2';
    const { pointer } = memoryOf(8192, 1);
    const before = held();
    const right = { type: 'cuda', pointer, byteLength: 8192, device: 1 };
    const wrong: [object | null, string, RegExp][] = [
      [null, 'ERR_INVALID_ARG_TYPE', /memory must be/],
      [{ ...right, type: 'rocr' }, 'ERR_INVALID_ARG_VALUE', /memory.type must be one of 'cuda'/],
      [{ ...right, pointer: 5 }, 'ERR_INVALID_ARG_TYPE', /memory.pointer must be a bigint/],
      [{ ...right, pointer: -1n }, 'ERR_OUT_OF_RANGE', /memory.pointer/],
      [{ ...right, pointer: 4096n }, 'ERR_INVALID_ARG_VALUE', /not in memory that CUDA has/],
      [{ ...right, pointer: pointer - 1n }, 'ERR_INVALID_ARG_VALUE', /not in memory that CUDA/],
      [{ ...right, byteLength: 0 }, 'ERR_OUT_OF_RANGE', /memory.byteLength/],
      [{ ...right, byteLength: 8193 }, 'ERR_OUT_OF_RANGE', /at most 8192, the end of its/],
      [{ ...right, pointer: pointer + 8191n, byteLength: 2 }, 'ERR_OUT_OF_RANGE', /at most 1,/],
      [{ ...right, device: 0 }, 'ERR_INVALID_ARG_VALUE', /is 0, but the pointer is of 1/],
      [{ ...right, device: -1 }, 'ERR_OUT_OF_RANGE', /memory.device/],
    ];
    for (const [memory, code, message] of wrong) {
      expect(() => exportDmabuf(memory as never)).toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(message) }),
      );
    }
    expect(held()).toEqual(before);
  });
});

test('wrong arguments are refused before the driver is called', () => {
  const memory = memoryOf(100);
  const before = calls();
  const wrong: [() => unknown, string][] = [
    [() => allocate(0), 'ERR_OUT_OF_RANGE'],
    [() => allocate(1.5), 'ERR_OUT_OF_RANGE'],
    [() => allocate('1' as never), 'ERR_INVALID_ARG_TYPE'],
    [() => allocate(1, { device: -1 }), 'ERR_OUT_OF_RANGE'],
    [() => allocate(1, { devise: 1 } as never), 'ERR_INVALID_ARG_VALUE'],
    [() => memory.fill(256), 'ERR_OUT_OF_RANGE'],
    [() => memory.fill(0, 101), 'ERR_OUT_OF_RANGE'],
    [() => memory.fill(0, 50, 49), 'ERR_OUT_OF_RANGE'],
    [() => memory.fill(0, 0, 101), 'ERR_OUT_OF_RANGE'],
    [() => memory.write(new Uint8Array(101)), 'ERR_OUT_OF_RANGE'],
    [() => memory.write(new Uint8Array(2), 99), 'ERR_OUT_OF_RANGE'],
    [() => memory.write('abc' as never), 'ERR_INVALID_ARG_TYPE'],
    [() => memory.read(new Uint8Array(1), 100), 'ERR_OUT_OF_RANGE'],
    [() => memory.read(structuredCloneOf(new Uint8Array(1))), 'ERR_INVALID_ARG_VALUE'],
    [() => pointerAttributes(5 as never), 'ERR_INVALID_ARG_TYPE'],
    [() => pointerAttributes(2n ** 64n), 'ERR_OUT_OF_RANGE'],
  ];
  for (const [call, code] of wrong) expect(call).toThrow(expect.objectContaining({ code }));
  expect(callsSince(before)).toEqual({});
});

/** A detached array. */
function structuredCloneOf(bytes: Uint8Array): Uint8Array {
  structuredClone(bytes, { transfer: [bytes.buffer as ArrayBuffer] });
  return bytes;
}
