// The modules of accelerators where the library is absent, too old or has no devices, and for wrong arguments: a typed
// error each.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { NativeAccelerator } from '../../dist/accelerator/devices.js';
import { callsRefused, expectClosed, expectJunkRefused } from '../support/accelerator.js';
import { ACCELERATORS, accelerator, Fake } from '../support/fake-accelerator.js';
import { HANG_MS } from '../support/limits.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a program. Returns its output. */
function run(program: string, env: NodeJS.ProcessEnv, options: readonly string[] = []): string {
  return execFileSync(process.execPath, [...options, '--input-type=module', '-e', program], {
    ...{ cwd: root, env, timeout: HANG_MS, encoding: 'utf8' },
  });
}

describe.each(ACCELERATORS.map((each) => [each.type, each] as const))('%s', (type, given) => {
  const fake = new Fake(given).load();
  const { library, prefix } = given;
  const { allocate, exportDmabuf } = given.module;
  const CODE = type.toUpperCase();

  test('wrong arguments are refused with a typed error, and nothing is left', () => {
    const before = fake.held();
    const memory = allocate(100);
    const calls: readonly ((value: unknown) => unknown)[] = [
      (value) => allocate(value as number),
      (value) => allocate(1, value as object),
      (value) => allocate(1, { device: value as number }),
      (value) => memory.fill(value as number),
      (value) => memory.fill(0, value as number),
      (value) => memory.fill(0, 0, value as number),
      (value) => memory.write(value as Uint8Array),
      (value) => memory.write(new Uint8Array(1), value as number),
      (value) => memory.read(value as Uint8Array),
      (value) => memory.read(new Uint8Array(1), value as number),
      (value) => exportDmabuf(value as typeof memory),
      (value) => exportDmabuf({ type, pointer: value as bigint, byteLength: 1, device: 0 }),
    ];
    expectJunkRefused(calls);
    memory.free();
    memory.free();
    expectClosed(memory);
    expect(fake.held()).toEqual(before);
  });

  test('a result without a name keeps its number', () => {
    const [result, code] = given.unknown;
    fake.fail('*', result);
    expect(() => allocate(1)).toThrow(
      expect.objectContaining({ name: `${prefix}Error`, code, result }),
    );
  });

  test('too much memory and no such device are told with what to do', () => {
    expect(() => allocate(2 ** 40)).toThrow(given.tooMuch);
    expect(() => allocate(1, { device: 9 })).toThrow(given.noDevice);
    using memory = allocate(100);
    const { pointer, byteLength } = memory;
    expect(() => exportDmabuf({ type, pointer, byteLength, device: 9 })).toThrow(given.noDevice);
  });

  describe('the library', () => {
    const program = `
      import { allocate, isAvailable, whyNoDevices } from 'libfabric/${type}';
      const { code, message } = whyNoDevices() ?? {};
      let error;
      try { allocate(1); } catch (caught) { error = caught; }
      console.log(JSON.stringify([isAvailable(), code, message, error?.code, error?.message]));`;
    const ask = (env: NodeJS.ProcessEnv) => JSON.parse(run(program, env));

    test('is not installed', (context) => {
      const installed = readFileSync('/etc/ld.so.cache', 'latin1').includes(library);
      context.skip(installed, 'this machine has the library');
      const message = expect.stringMatching(
        new RegExp(`^${library} .* could not be loaded.*\nInstall`),
      );
      expect(ask(process.env)).toEqual([
        ...[false, `ERR_${CODE}_NOT_FOUND`, message],
        ...[`ERR_${CODE}_NOT_FOUND`, message],
      ]);
    });

    test('lacks a function', () => {
      const folder = mkdtempSync(join(fake.folder, 'empty-'));
      const args = ['-shared', '-fPIC', '-o', join(folder, library), '-x', 'c++', '-'];
      execFileSync('g++', args, { input: 'extern "C" int nothing() { return 0; }' });
      const message = expect.stringMatching(/too old: it has no \w+\.\nInstall a newer/);
      expect(ask({ ...process.env, LD_LIBRARY_PATH: folder })).toEqual([
        ...[false, `ERR_${CODE}_TOO_OLD`, message],
        ...[`ERR_${CODE}_TOO_OLD`, message],
      ]);
    });

    test('is found by its name', () => {
      expect(ask(fake.env())).toEqual([true, null, null, null, null]);
    });

    test('has no devices', () => {
      const [available, code, message, ...rest] = ask(
        fake.env({ [fake.variable('DEVICES')]: '0' }),
      );
      expect([available, code]).toEqual([false, `ERR_NO_${CODE}_DEVICE`]);
      expect(message).toMatch(/ has no /);
      expect(rest).toEqual([expect.any(String), expect.stringMatching(/; /)]);
    });

    test('leaves collected memory allocated, and warns', () => {
      const collect = `
        import { allocate } from 'libfabric/${type}';
        const timer = setInterval(() => gc(), 1);
        process.on('warning', ({ message }) => {
          clearInterval(timer);
          console.log(message);
        });
        allocate(4096);`;
      const output = run(collect, fake.env(), ['--expose-gc', '--no-warnings']);
      expect(output).toMatch(/^\w+Memory of 4096 bytes was garbage collected before free\(\)/);
    });
  });

  test('the functions of the addon refuse arbitrary values', () => {
    const addon = given.load() as NativeAccelerator;
    expect(callsRefused(addon, ['devices'])).toBeGreaterThan(15_000);
  });
});

describe('rocr', () => {
  const fake = new Fake(accelerator('rocr'));

  test('a GPU without a pool for programs is refused', () => {
    const program = `
      import { allocate } from 'libfabric/rocr';
      try { allocate(1); } catch ({ message }) { console.log(message); }`;
    expect(run(program, fake.env({ FAKE_ROCR_POOLS: '2' }))).toMatch(
      /^HSA_STATUS_ERROR_INVALID_ALLOCATION: .*, hsa_amd_agent_iterate_memory_pools$/m,
    );
  });

  test('a runtime of ROCm 5.2 allocates, and exports no dmabuf', () => {
    const program = `
      import { allocate } from 'libfabric/rocr';
      const memory = allocate(4096);
      try { memory.dmabuf(); } catch ({ code, message }) { console.log(code, message); }`;
    expect(run(program, fake.envOfOld())).toMatch(
      /^ERR_ROCR_TOO_OLD .*it has no hsa_amd_portable_export_dmabuf/,
    );
  });
});

describe('ze', () => {
  const fake = new Fake(accelerator('ze'));
  const ask = (program: string, env: NodeJS.ProcessEnv) =>
    run(`import { allocate, devices, exportDmabuf } from 'libfabric/ze';${program}`, env);

  test('a loader without the extension of PCI addresses lists devices without them', () => {
    const program = `
      const [{ pciAddress, numaNode }] = devices();
      console.log(pciAddress, numaNode);`;
    expect(ask(program, fake.envOfOld())).toBe('null null\n');
  });

  test('memory of a device of the second driver is used in the context of that driver', () => {
    const program = `
      const memory = allocate(8192, { device: 65_536 });
      memory.fill(7);
      console.log(memory.read(new Uint8Array(8192)).every((byte) => byte === 7));
      console.log(memory.dmabuf().byteLength);
      const { type, pointer } = memory;
      try { exportDmabuf({ type, pointer, byteLength: 1, device: 0 }); } catch ({ code }) { console.log(code); }
      try { exportDmabuf({ type, pointer, byteLength: 8193, device: 65_536 }); } catch ({ code }) { console.log(code); }
      for (const device of [65_537, 131_072]) {
        try { allocate(1, { device }); } catch ({ code }) { console.log(code); }
      }`;
    expect(ask(program, fake.env()).split('\n')).toEqual([
      ...['true', '8192', 'ZE_RESULT_ERROR_INVALID_ARGUMENT', 'ZE_RESULT_ERROR_INVALID_SIZE'],
      ...['ZE_RESULT_ERROR_INVALID_ARGUMENT', 'ZE_RESULT_ERROR_INVALID_ARGUMENT', ''],
    ]);
  });

  test('a driver that exports no descriptor is told as such', () => {
    const program = `
      try { allocate(1).dmabuf(); } catch ({ message }) { console.log(message); }`;
    expect(ask(program, fake.env({ FAKE_ZE_EXPORT: 'none' }))).toMatch(
      /^ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, zeMemGetAllocProperties; a dmabuf needs/,
    );
  });
});

describe('synapseai', () => {
  const fake = new Fake(accelerator('synapseai'));

  test('a second device of a process is refused, with the reason', () => {
    const program = `
      import { allocate } from 'libfabric/synapseai';
      allocate(1, { device: 1 });
      try { allocate(1); } catch ({ message }) { console.log(message); }
      console.log(allocate(1, { device: 1 }).byteLength);`;
    const lines = run(program, fake.env({ FAKE_SYNAPSEAI_ONE: '1' })).split('\n');
    expect(lines[0]).toMatch(
      /^synDeviceAlreadyAcquired, synDeviceAcquireByModuleId; .*a process may have one only/,
    );
    expect(lines.slice(1)).toEqual(['1', '']);
  });

  test('a stream that was not created is created by the next call', () => {
    const program = `
      import { allocate } from 'libfabric/synapseai';
      try { allocate(1); } catch ({ code, syscall }) { console.log(code, syscall); }
      console.log(allocate(1).byteLength);`;
    const env = fake.env({ FAKE_SYNAPSEAI_FAIL: 'synStreamCreateGeneric:1:26' });
    expect(run(program, env)).toBe('synFail synStreamCreateGeneric\n1\n');
  });

  test('without libhl-thunk.so memory is used, and not exported', () => {
    const folder = mkdtempSync(join(fake.folder, 'alone-'));
    symlinkSync(join(fake.folder, 'libSynapse.so'), join(folder, 'libSynapse.so'));
    const program = `
      import { allocate } from 'libfabric/synapseai';
      const memory = allocate(4096);
      memory.fill(7);
      console.log(memory.read(new Uint8Array(1))[0]);
      try { memory.dmabuf(); } catch ({ code, message }) { console.log(code, message); }`;
    expect(run(program, { ...process.env, LD_LIBRARY_PATH: folder })).toMatch(
      /^7\nERR_SYNAPSEAI_NOT_FOUND .*libhl-thunk\.so: cannot open/,
    );
  });
});
