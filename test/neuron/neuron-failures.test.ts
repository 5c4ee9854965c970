// libfabric/neuron where the runtime is absent, too old or ends early, and for wrong arguments: a typed error each.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allocate, close, exportDmabuf } from 'libfabric/neuron';
import { afterAll, describe, expect, test } from 'vitest';
import { loadNeuron } from '../../dist/contract/load.js';
import type { NativeNeuron } from '../../dist/neuron/native.js';
import { callsRefused, expectClosed, expectJunkRefused } from '../support/accelerator.js';
import { held, loadFakeNeuron, withFakeNeuron } from '../support/fake-neuron.js';
import { HANG_MS } from '../support/limits.js';

const fake = loadFakeNeuron();
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'libfabric-neuron-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program. Returns its output. */
function run(program: string, env: NodeJS.ProcessEnv, options: readonly string[] = []): string {
  return execFileSync(process.execPath, [...options, '--input-type=module', '-e', program], {
    ...{ cwd: root, env, timeout: HANG_MS, encoding: 'utf8' },
  });
}

// Before this process has allocated, so this test is the first.
test('a dmabuf takes no cores: without nrt_init it is refused', () => {
  const memory = { type: 'neuron', pointer: 4096n, byteLength: 1, device: 0 } as const;
  expect(() => exportDmabuf(memory)).toThrow(
    expect.objectContaining({ name: 'NeuronError', code: 'NRT_UNINITIALIZED' }),
  );
});

test('wrong arguments are refused with a typed error, and nothing is left', () => {
  const before = held();
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
    (value) => exportDmabuf({ type: 'neuron', pointer: value as bigint, byteLength: 1, device: 0 }),
  ];
  expectJunkRefused(calls);
  memory.free();
  memory.free();
  expectClosed(memory);
  expect(held()).toEqual(before);
});

test('a runtime that another library has closed fails with NRT_CLOSED', () => {
  const memory = allocate(100);
  memory.free();
  close();
  expect(() => exportDmabuf({ type: 'neuron', pointer: 1n, byteLength: 1, device: 0 })).toThrow(
    expect.objectContaining({ code: 'NRT_CLOSED', syscall: 'nrt_get_dmabuf_fd_v2' }),
  );
});

test('a status without a name keeps its number', () => {
  process.env.FAKE_NEURON_FAIL = 'nrt_tensor_allocate:1:4711';
  expect(() => allocate(1)).toThrow(/^NRT_4711, nrt_tensor_allocate$/);
});

test('no memory and no such core are reported with a hint', () => {
  expect(() => allocate(2 ** 40)).toThrow(/^NRT_RESOURCE, nrt_tensor_allocate; neuron-top/);
  expect(() => allocate(1, { device: 9 })).toThrow(
    /^NRT_INVALID, nrt_tensor_allocate; .*cores\(\)/,
  );
  using memory = allocate(100);
  const { type, pointer, byteLength } = memory;
  expect(() => exportDmabuf({ type, pointer, byteLength, device: 9 })).toThrow(
    /^NRT_INVALID, nrt_get_visible_nc_count; .*cores\(\)/,
  );
});

describe('the runtime', () => {
  const program = `
    import { allocate, isAvailable, whyNoCores } from 'libfabric/neuron';
    const { code, message } = whyNoCores() ?? {};
    let error;
    try { allocate(1); } catch (caught) { error = caught; }
    console.log(JSON.stringify([isAvailable(), code, message, error?.code, error?.message]));`;
  const ask = (env: NodeJS.ProcessEnv) => JSON.parse(run(program, env));

  test('is not installed', (context) => {
    const installed = readFileSync('/etc/ld.so.cache', 'latin1').includes('libnrt.so.1');
    context.skip(installed, 'this machine has the runtime');
    const message = expect.stringMatching(
      /^libnrt.so.1 .* could not be loaded.*\nInstall the pack/,
    );
    expect(ask(process.env)).toEqual([
      ...[false, 'ERR_NEURON_NOT_FOUND', message],
      ...['ERR_NEURON_NOT_FOUND', message],
    ]);
  });

  test('lacks a function', () => {
    const source = 'extern "C" int nrt_init(int, const char*, const char*) { return 0; }';
    const library = join(folder, 'libnrt.so.1');
    execFileSync('g++', ['-shared', '-fPIC', '-o', library, '-x', 'c++', '-'], { input: source });
    const message = expect.stringMatching(/too old: it has no nrt_close\.\nInstall a newer/);
    expect(ask({ ...process.env, LD_LIBRARY_PATH: folder })).toEqual([
      ...[false, 'ERR_NEURON_TOO_OLD', message],
      ...['ERR_NEURON_TOO_OLD', message],
    ]);
  });

  test('is found by its name', () => {
    expect(ask(withFakeNeuron(fake))).toEqual([true, null, null, null, null]);
  });

  test('stays initialized for collected memory, which is warned about', () => {
    const collect = `
      import { allocate, close } from 'libfabric/neuron';
      const timer = setInterval(() => gc(), 1);
      process.on('warning', ({ message }) => {
        clearInterval(timer);
        console.log(message);
        try { close(); } catch ({ code }) { console.log(code); }
      });
      allocate(4096);`;
    const output = run(collect, withFakeNeuron(fake), ['--expose-gc', '--no-warnings']);
    expect(output).toMatch(/^NeuronMemory of 4096 bytes was garbage collected before free\(\)/);
    expect(output).toMatch(/\nERR_INVALID_STATE\n$/);
  });
});

test('the functions of the addon refuse arbitrary values', () => {
  const neuron = loadNeuron() as NativeNeuron;
  expect(callsRefused(neuron, ['runtimeVersion', 'cores', 'close'])).toBeGreaterThan(15_000);
});
