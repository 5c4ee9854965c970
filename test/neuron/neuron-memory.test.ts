// libfabric/neuron over a fake of the runtime: cores, memory, dmabufs, and every call that fails.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  allocate,
  close,
  cores,
  exportDmabuf,
  isAvailable,
  NeuronError,
  type NeuronMemory,
  runtimeVersion,
  whyNoCores,
} from 'libfabric/neuron';
import { expect, test } from 'vitest';
import { expectNotInherited, expectOwn } from '../support/accelerator.js';
import {
  buildFakeNeuron,
  calls,
  held,
  loadFakeNeuron,
  withFakeNeuron,
} from '../support/fake-neuron.js';
import { HANG_MS } from '../support/limits.js';

loadFakeNeuron();

const root = fileURLToPath(new URL('../..', import.meta.url));

// Before nrt_init has succeeded, so this test is the first.
test('cores are counted without taking them, and nrt_init is tried again after it failed', () => {
  expect(cores()).toEqual({ total: 2, visible: 2 });
  expect(isAvailable()).toBe(true);
  expect(calls().nrt_init).toBeUndefined();
  process.env.FAKE_NEURON_FAIL = 'nrt_init:1:1005';
  expect(() => allocate(1)).toThrow(
    expect.objectContaining({
      ...{ name: 'NeuronError', code: 'NRT_EXEC_NC_BUSY', result: 1005, syscall: 'nrt_init' },
      message: expect.stringMatching(/^NRT_EXEC_NC_BUSY, nrt_init; neuron-ls/),
    }),
  );
  allocate(1).free();
});

test('the runtime reports its version, and that it is a fake', () => {
  expect(runtimeVersion()).toEqual({ version: '2.21.41.0', detail: "fake, a test's libnrt" });
});

test('no cores, and hidden cores, are reported with the reason', () => {
  process.env.FAKE_NEURON_CORES = '0';
  expect(whyNoCores()).toMatchObject({ code: 'ERR_NO_NEURON_CORE' });
  process.env.FAKE_NEURON_CORES = '4';
  process.env.FAKE_NEURON_VISIBLE = '0';
  expect(whyNoCores()?.message).toMatch(/NEURON_RT_VISIBLE_CORES .* hides the 4/);
});

test('every byte is written, filled and read where it should be', () => {
  using memory = allocate(3_000_000, { device: 1 });
  expect(memory).toMatchObject({ type: 'neuron', byteLength: 3_000_000, device: 1, freed: false });
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

test('a part of memory has its offset in the dmabuf', () => {
  using memory = allocate(8192);
  const part = {
    type: 'neuron',
    pointer: memory.pointer + 5000n,
    byteLength: 100,
    device: 0,
  } as const;
  using dmabuf = exportDmabuf(part);
  expect(dmabuf).toMatchObject({ type: 'dmabuf', offset: 5000, byteLength: 100 });
  expectNotInherited(dmabuf);
  expect(() => exportDmabuf({ ...part, pointer: 4096n })).toThrow(
    /^NRT_INVALID, nrt_get_dmabuf_fd/,
  );
});

test('a dmabuf outlives its memory', () => {
  const before = held();
  const memory = allocate(4096);
  const dmabuf = memory.dmabuf();
  memory.free();
  expect(held()).toMatchObject({ memory: before.memory, descriptors: before.descriptors + 1 });
  dmabuf.close();
  expect(held()).toEqual(before);
});

test('the runtime is not closed while memory is allocated', () => {
  const memory = allocate(100);
  const refusal = (allocations: string) => ({
    code: 'ERR_INVALID_STATE',
    message: `memory of Neuron is still allocated (${allocations}): free it before close()`,
  });
  expect(() => close()).toThrow(expect.objectContaining(refusal('1 allocation')));
  const other = allocate(100);
  expect(() => close()).toThrow(expect.objectContaining(refusal('2 allocations')));
  other.free();
  memory.free();
  expect(() => memory.pointer).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  close();
  expect(calls()['held:initialized']).toBe(0);
});

test('methods on other objects, and constructors', () => {
  using memory = allocate(64);
  using dmabuf = memory.dmabuf();
  expectOwn(memory, dmabuf);
});

test('memory without an address is freed, and refused', () => {
  const before = held();
  process.env.FAKE_NEURON_ADDRESS = 'none';
  expect(() => allocate(100)).toThrow(expect.objectContaining({ code: 'ERR_NEURON_NO_ADDRESS' }));
  expect(held()).toEqual(before);
});

test('each call that reports a status fails in turn with a NeuronError, and nothing is left', () => {
  const use = (made: NeuronMemory[]) => {
    runtimeVersion();
    cores();
    const memory = allocate(8192);
    made.push(memory);
    memory.write(new Uint8Array(8));
    memory.read(new Uint8Array(8));
    memory.dmabuf().close();
    memory.free();
  };
  use([]);
  const before = held();
  for (const name of [
    ...[
      'nrt_get_version',
      'nrt_get_total_nc_count',
      'nrt_get_visible_nc_count',
      'nrt_tensor_allocate',
    ],
    ...['nrt_tensor_write', 'nrt_tensor_read', 'nrt_get_dmabuf_fd_v2'],
  ]) {
    const made: NeuronMemory[] = [];
    process.env.FAKE_NEURON_FAIL = `${name}:1:4`;
    let error: unknown;
    try {
      use(made);
    } catch (caught) {
      error = caught;
    }
    for (const memory of made) memory.free();
    expect(error, name).toBeInstanceOf(NeuronError);
    expect(error, name).toMatchObject({ code: 'NRT_RESOURCE', syscall: name });
    expect(held(), name).toEqual(before);
  }
});

test('whichever call fails, nothing is left once it works again', () => {
  const use = (made: NeuronMemory[]) => {
    const memory = allocate(8192);
    made.push(memory);
    memory.fill(1);
    memory.dmabuf().close();
    memory.free();
  };
  const callsSoFar = () =>
    Object.entries(calls()).reduce((sum, [name, n]) => sum + (name.includes(':') ? 0 : n), 0);
  const before = held();
  const first = callsSoFar();
  use([]);
  const count = callsSoFar() - first;
  expect(count).toBeGreaterThan(4);
  const codes = new Set<string>();
  for (let number = 1; number <= count; number++) {
    process.env.FAKE_NEURON_FAIL = `*:${number}:4`;
    const made: NeuronMemory[] = [];
    try {
      use(made);
    } catch (error) {
      codes.add((error as NeuronError).code);
    }
    delete process.env.FAKE_NEURON_FAIL;
    for (const memory of made) memory.free();
    expect(held(), `call ${number}`).toEqual(before);
  }
  expect([...codes].sort()).toEqual(['ERR_NEURON_NO_ADDRESS', 'NRT_RESOURCE']);
});

test('a runtime with only nrt_get_dmabuf_fd exports from the start of memory', () => {
  const program = `
    import { allocate, exportDmabuf } from 'libfabric/neuron';
    const memory = allocate(8192);
    const { offset } = memory.dmabuf();
    const part = { type: 'neuron', pointer: memory.pointer + 1n, byteLength: 1, device: 0 };
    try { exportDmabuf(part); } catch ({ message }) { console.log(offset, message); }`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    ...{ cwd: root, encoding: 'utf8', timeout: HANG_MS },
    env: withFakeNeuron(buildFakeNeuron({ old: true })),
  });
  expect(output).toMatch(/^0 NRT_INVALID, nrt_get_dmabuf_fd; /);
});
