// The modules of accelerators over fakes of their libraries: devices, memory, dmabufs, and every call that fails.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AcceleratorError, type AcceleratorMemory } from 'libfabric/rocr';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectNotInherited, expectOwn } from '../support/accelerator.js';
import { ACCELERATORS, Fake } from '../support/fake-accelerator.js';

describe.each(ACCELERATORS.map((each) => [each.type, each] as const))('%s', (type, accelerator) => {
  const fake = new Fake(accelerator).load();
  const { module, prefix, init, calls, exporting } = accelerator;
  const { allocate, devices, exportDmabuf } = module;
  const [failure, code] = accelerator.failure;

  // Before the first call has succeeded, so this test is the first.
  test('the first call is tried again after it failed', () => {
    const [result, unknown] = accelerator.unknown;
    fake.fail(init, result);
    expect(() => allocate(1)).toThrow(
      expect.objectContaining({ name: `${prefix}Error`, code: unknown, result, syscall: init }),
    );
    allocate(1).free();
    expect(fake.calls()[init]).toBe(2);
  });

  test('the devices have a name, an address and the NUMA node that sysfs tells', () => {
    const sysfs = mkdtempSync(join(tmpdir(), 'libfabric-sysfs-'));
    onTestFinished(() => {
      delete process.env.SYSFS_PATH;
      rmSync(sysfs, { recursive: true });
    });
    const address = accelerator.devices[1]?.pciAddress ?? null;
    if (address !== null) {
      const place = join(sysfs, 'bus/pci/devices', address);
      mkdirSync(place, { recursive: true });
      writeFileSync(join(place, 'numa_node'), '1\n');
    }
    process.env.SYSFS_PATH = sysfs;
    const memory = 2 ** 30;
    expect(devices()).toEqual(
      accelerator.devices.map((device, at) => ({
        ...{ ...device, numaNode: at === 1 && address !== null ? 1 : null, memory },
      })),
    );
    expect(module.isAvailable()).toBe(true);
  });

  test('every byte is written, filled and read where it should be', () => {
    using memory = allocate(3_000_000, { device: 1 });
    expect(memory).toMatchObject({ type, byteLength: 3_000_000, device: 1, freed: false });
    memory.fill(0xaa);
    memory.write(Uint8Array.of(1, 2, 3), 5000);
    memory.fill(0x55, 1_000_000, 2_200_100);
    const expected = new Uint8Array(3_000_000).fill(0xaa);
    expected.set([1, 2, 3], 5000);
    expected.fill(0x55, 1_000_000, 2_200_100);
    const found = memory.read(new Uint8Array(3_000_000));
    expect(Buffer.compare(found, expected)).toBe(0);
    expect([...memory.read(new Uint8Array(3), 5000)]).toEqual([1, 2, 3]);
  });

  test('a part of memory has its offset in the dmabuf, and a foreign range is refused', () => {
    using memory = allocate(8192);
    const part = { type, pointer: memory.pointer + 5000n, byteLength: 100, device: 0 } as const;
    using dmabuf = exportDmabuf(part);
    expect(dmabuf).toMatchObject({ type: 'dmabuf', offset: 5000, byteLength: 100 });
    expectNotInherited(dmabuf);
    expect(() => exportDmabuf({ ...part, pointer: 4096n })).toThrow(accelerator.foreign);
    expect(() => exportDmabuf({ ...part, byteLength: 8000 })).toThrow(
      expect.objectContaining({ message: expect.any(String) }),
    );
  });

  test('a dmabuf outlives what the library has exported, and its memory', () => {
    const before = fake.held();
    const memory = allocate(4096);
    const dmabuf = memory.dmabuf();
    memory.free();
    expect(fake.calls()[exporting]).toBeGreaterThan(0);
    expect(dmabuf.fd).toBeGreaterThan(2);
    dmabuf.close();
    expect(fake.held()).toEqual(before);
  });

  test('methods on other objects, and constructors', () => {
    using memory = allocate(64);
    using dmabuf = memory.dmabuf();
    expectOwn(memory, dmabuf);
  });

  test('each call fails in turn with a typed error, and nothing is left', () => {
    const use = (made: AcceleratorMemory[]) => {
      devices();
      const memory = allocate(8192);
      made.push(memory);
      memory.write(new Uint8Array(8));
      memory.read(new Uint8Array(8));
      memory.dmabuf().close();
      memory.free();
    };
    use([]);
    const before = fake.held();
    for (const name of [...calls, exporting]) {
      const made: AcceleratorMemory[] = [];
      fake.fail(name, failure);
      let error: unknown;
      try {
        use(made);
      } catch (caught) {
        error = caught;
      }
      for (const memory of made) memory.free();
      expect(error, name).toBeInstanceOf(AcceleratorError);
      expect(error, name).toMatchObject({ name: `${prefix}Error`, code, syscall: name });
      expect(fake.held(), name).toEqual(before);
    }
  });

  test('whichever call fails, nothing is left once it works again', () => {
    const before = fake.held();
    for (let number = 1; ; number++) {
      fake.fail('*', failure, number);
      const made: AcceleratorMemory[] = [];
      let failed = false;
      try {
        made.push(allocate(8192));
        made[0]?.fill(1);
        made[0]?.dmabuf().close();
        made[0]?.free();
      } catch (error) {
        expect(error).toBeInstanceOf(AcceleratorError);
        failed = true;
      }
      delete process.env[fake.variable('FAIL')];
      for (const memory of made) memory.free();
      expect(fake.held(), `call ${number}`).toEqual(before);
      if (!failed && number > calls.length) break;
    }
  });
});
