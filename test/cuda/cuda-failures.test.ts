// Every call of the driver fails in turn: a typed error each, and nothing is left behind.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  allocate,
  CudaError,
  type CudaMemory,
  devices,
  driverVersion,
  exportDmabuf,
  pointerAttributes,
} from 'libfabric/cuda';
import { afterAll, describe, expect, test } from 'vitest';
import { loadCuda } from '../../dist/contract/load.js';
import type { NativeCuda } from '../../dist/cuda/native.js';
import { callsRefused } from '../support/accelerator.js';
import { calls, callsSince, held, loadFakeCuda, withFakeCuda } from '../support/fake-cuda.js';
import { HANG_MS } from '../support/limits.js';

loadFakeCuda();

const UNKNOWN = 999;
const folder = mkdtempSync(join(tmpdir(), 'libfabric-cuda-'));
afterAll(() => rmSync(folder, { recursive: true }));

// Before cuInit has succeeded, so this test is the first.
test('cuInit fails, and a later call tries again', () => {
  process.env.FAKE_CUDA_FAIL = `cuInit:1:${UNKNOWN}`;
  expect(() => driverVersion()).toThrow(
    expect.objectContaining({
      name: 'CudaError',
      code: 'CUDA_ERROR_UNKNOWN',
      result: UNKNOWN,
      syscall: 'cuInit',
      hint: expect.stringMatching(/modprobe nvidia-uvm/),
      message: expect.stringMatching(/^CUDA_ERROR_UNKNOWN: unknown error, cuInit; /),
    }),
  );
  expect(driverVersion()).toBe('12.4');
});

/** Uses all functions of the driver. Its allocations are added to `made`. */
function everything(made: CudaMemory[]): void {
  driverVersion();
  devices();
  const memory = allocate(8192);
  made.push(memory);
  memory.fill(1);
  memory.write(new Uint8Array(100));
  memory.read(new Uint8Array(100));
  pointerAttributes(memory.pointer);
  memory.dmabuf().close();
  memory.free();
}

/** The function whose call failed on request. */
const failedSince = (before: Record<string, number>) =>
  Object.keys(callsSince(before))
    .find((name) => name.startsWith('failed:'))
    ?.slice(7);

test('each call fails in turn with a CudaError, and nothing is left behind', () => {
  const start = held();
  const before = calls();
  everything([]);
  const used = Object.entries(callsSince(before)).filter(([name]) => !name.includes(':'));
  const total = used.reduce((sum, [, count]) => sum + count, 0);
  expect(total).toBeGreaterThan(30);
  expect(held()).toEqual(start);

  const silent = new Set<string>();
  const failed = new Set<string>();
  for (let n = 1; n <= total; n++) {
    const [earlier, then] = [calls(), held()];
    const made: CudaMemory[] = [];
    process.env.FAKE_CUDA_FAIL = `*:${n}:700`;
    let error: unknown;
    try {
      everything(made);
    } catch (caught) {
      error = caught;
    }
    delete process.env.FAKE_CUDA_FAIL;
    for (const memory of made) memory.free();
    const name = failedSince(earlier) as string;
    failed.add(name);
    const { contexts, pushed } = held();
    if (error === undefined) silent.add(name);
    else {
      expect(error).toBeInstanceOf(CudaError);
      expect(error).toMatchObject({
        code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
        result: 700,
        syscall: name,
        hint: expect.stringMatching(/must be restarted/),
      });
      expect({ contexts, pushed }, name).toEqual({ contexts: then.contexts, pushed: then.pushed });
    }
    expect(held(), name).toMatchObject({
      memory: start.memory,
      maps: start.maps,
      descriptors: start.descriptors,
    });
  }
  expect([...failed].sort()).toEqual(used.map(([name]) => name).sort());
  // The release of a context reports no error, and not every memory has SYNC_MEMOPS.
  expect([...silent].sort()).toEqual([
    'cuCtxPopCurrent',
    'cuDevicePrimaryCtxRelease',
    'cuPointerSetAttribute',
  ]);
});

test('memory that could not be freed is still there, and can be freed later', () => {
  const memory = allocate(100);
  const before = held();
  process.env.FAKE_CUDA_FAIL = 'cuMemFree:1:999';
  expect(() => memory.free()).toThrow(expect.objectContaining({ syscall: 'cuMemFree' }));
  expect(memory.freed).toBe(false);
  expect(held()).toEqual(before);
  memory.free();
  expect(held()).toMatchObject({ memory: before.memory - 1, contexts: before.contexts - 1 });
});

test('no memory, no such device, no dmabufs: what to do', () => {
  expect(() => allocate(2 ** 40)).toThrow(/^CUDA_ERROR_OUT_OF_MEMORY: .*, cuMemAlloc; nvidia-smi/);
  expect(() => allocate(1, { device: 9 })).toThrow(/^CUDA_ERROR_INVALID_DEVICE: .*devices\(\)/);
  using memory = allocate(100);
  const { type, pointer, byteLength } = memory;
  expect(() => exportDmabuf({ type, pointer, byteLength, device: 9 })).toThrow(
    /^memory\.device is 9, but the pointer is/,
  );
  process.env.FAKE_CUDA_FAIL = 'cuMemGetHandleForAddressRange:1:801';
  expect(() => memory.dmabuf()).toThrow(/NOT_SUPPORTED: .*needs the open kernel modules/);
  process.env.FAKE_CUDA_FAIL = 'cuMemFree:1:12345';
  expect(() => memory.free()).toThrow(/^CUDA_ERROR_12345: unknown error, cuMemFree$/);
});

test('an error is JSON', () => {
  process.env.FAKE_CUDA_FAIL = 'cuMemAlloc:1:2';
  let error: unknown;
  try {
    allocate(1);
  } catch (caught) {
    error = caught;
  }
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    code: 'CUDA_ERROR_OUT_OF_MEMORY',
    result: 2,
    syscall: 'cuMemAlloc',
    message: expect.stringMatching(/out of memory/),
  });
});

describe('the driver', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const program = `
    import { allocate, isAvailable, whyNoDevices } from 'libfabric/cuda';
    const { code, message } = whyNoDevices() ?? {};
    let error;
    try { allocate(1); } catch (caught) { error = caught; }
    console.log(JSON.stringify([isAvailable(), code, message, error?.code, error?.message]));`;

  const ask = (env: NodeJS.ProcessEnv) =>
    JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        cwd: root,
        env,
        timeout: HANG_MS,
        encoding: 'utf8',
      }),
    );

  test('is not installed', (context) => {
    const answer = ask(process.env);
    context.skip(answer[1] !== 'ERR_CUDA_NOT_FOUND', 'this machine has the driver');
    const message = expect.stringMatching(
      /libcuda.so.1 .* could not be loaded.*\nInstall the driver/,
    );
    expect(answer).toEqual([false, 'ERR_CUDA_NOT_FOUND', message, 'ERR_CUDA_NOT_FOUND', message]);
  });

  test('is too old', () => {
    const source = 'extern "C" int cuInit(unsigned) { return 0; }';
    const library = join(folder, 'libcuda.so.1');
    execFileSync('g++', ['-shared', '-fPIC', '-o', library, '-x', 'c++', '-'], { input: source });
    const answer = ask({ ...process.env, LD_LIBRARY_PATH: folder });
    const message = expect.stringMatching(
      /too old: it has no cu.*\nInstall the driver of CUDA 11.7/,
    );
    expect(answer).toEqual([false, 'ERR_CUDA_TOO_OLD', message, 'ERR_CUDA_TOO_OLD', message]);
  });

  test('is found by its name', () => {
    expect(ask(withFakeCuda())).toEqual([true, null, null, null, null]);
  });

  test.each([
    ['allocate(4096)', /^CudaMemory of 4096 bytes was garbage collected before free\(\)/],
    ['kept.dmabuf()', /^A Dmabuf of 8192 bytes was garbage collected before close\(\)/],
  ])('what %s has returned stays when it is collected, with a warning', (made, warning) => {
    const collect = `
      import { readdirSync } from 'node:fs';
      import { allocate } from 'libfabric/cuda';
      const kept = allocate(8192);
      ${made};
      const descriptors = readdirSync('/proc/self/fd').length;
      process.on('warning', ({ message }) => {
        console.log(message);
        clearInterval(timer);
        if (kept.freed || readdirSync('/proc/self/fd').length < descriptors) console.log('gone');
      });
      const timer = setInterval(() => gc(), 1);`;
    const args = ['--expose-gc', '--no-warnings', '--input-type=module', '-e', collect];
    const output = execFileSync(process.execPath, args, {
      cwd: root,
      env: withFakeCuda(),
      timeout: HANG_MS,
      encoding: 'utf8',
    });
    expect(output).toMatch(warning);
    expect(output).not.toMatch(/^gone$/m);
  });
});

test('the functions of the addon refuse arbitrary values', () => {
  const cuda = loadCuda() as NativeCuda;
  expect(callsRefused(cuda, ['driverVersion', 'devices'])).toBeGreaterThan(20_000);
});
