// The fake of the CUDA driver in test/programs/fake-cuda. Its memory is a memfd that the host maps without access.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { loadPreload } from '../../dist/load.js';

const source = fileURLToPath(new URL('../programs/fake-cuda/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'libfabric-fake-cuda-'));
const countersFile = join(folder, 'counters');
afterAll(() => rmSync(folder, { recursive: true }));

const DRIVER = ['state.cc', 'device.cc', 'memory.cc', 'provider.cc'];
const libcuda = join(folder, 'libcuda.so.1');
build(libcuda, DRIVER);

function build(library: string, files: readonly string[]): void {
  const flags = ['-std=c++17', '-O1', '-shared', '-fPIC', '-fvisibility=hidden'];
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  const name = `-Wl,-soname,${basename(library)}`;
  const args = [...flags, ...warnings, name, '-Wl,-rpath,$ORIGIN', '-o', library, ...files];
  execFileSync('g++', args, { cwd: source });
}

/** The folder of the fake's libcuda.so.1. */
export const fakeCudaFolder = folder;

/** The environment of a process that finds the fake. */
export function withFakeCuda(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const path = [folder, env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return { ...env, LD_LIBRARY_PATH: path };
}

const VARIABLES = ['DEVICES', 'PCI', 'MEMORY', 'FAIL', 'COUNTERS'].map(
  (name) => `FAKE_CUDA_${name}`,
);

/**
 * Loads the fake into the process of the test file. Call before libfabric is used. With the runtime, a libfabric that
 * was built with CUDA finds a device. Such a libfabric also copies with GDRCopy, if that is loaded.
 */
export function loadFakeCuda({ runtime = false, gdrcopy = false } = {}): void {
  load(libcuda);
  if (runtime) load(buildOver('libcudart.so', 'runtime.cc'));
  if (gdrcopy) load(buildOver('libgdrapi.so', 'gdrcopy.cc'));
  const reset = () => {
    for (const name of VARIABLES) delete process.env[name];
    process.env.FAKE_CUDA_COUNTERS = countersFile;
  };
  beforeEach(reset);
  afterEach(reset);
}

function load(library: string): void {
  const failure = loadPreload().loadGlobal(library);
  if (failure !== undefined) throw new Error(failure);
}

// Builds a library over the fake driver, beside it.
function buildOver(name: string, file: string): string {
  const library = join(folder, name);
  build(library, [file, libcuda]);
  return library;
}

/** The fake's counters in this process: how often each function was called, and what FAKE_CUDA_COUNTERS tells. */
export const calls = (): Record<string, number> => countersIn(countersFile);

/** The counters in a file of FAKE_CUDA_COUNTERS. */
export function countersIn(file: string): Record<string, number> {
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', count] = line.split(/ +/);
      return [name, Number(count)];
    }),
  );
}

/** What has changed since `before`. */
export function callsSince(before: Record<string, number>): Record<string, number> {
  const changed = Object.entries(calls()).filter(([name, count]) => count !== before[name]);
  return Object.fromEntries(changed.map(([name, count]) => [name, count - (before[name] ?? 0)]));
}

/** What the program has not given back: memory, contexts and descriptors. */
export function held() {
  const counted = calls();
  const maps = readFileSync('/proc/self/maps', 'latin1').match(/memfd:fake-cuda/g)?.length ?? 0;
  return {
    memory: counted['held:memory'] ?? 0,
    contexts: counted['held:contexts'] ?? 0,
    pushed: counted['held:pushed'] ?? 0,
    maps,
    descriptors: readdirSync('/proc/self/fd').length,
  };
}
