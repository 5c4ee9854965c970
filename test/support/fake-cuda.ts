// The fake of the CUDA driver in test/programs/fake-cuda.
import { join } from 'node:path';
import { FakeLibrary, withLibrariesOf } from './fake-library.js';

const DRIVER = ['state.cc', 'device.cc', 'memory.cc', 'provider.cc'];

const fake = new FakeLibrary('cuda', ['DEVICES', 'PCI', 'MEMORY', 'FAIL', 'COUNTERS']);
const libcuda = join(fake.folder, 'libcuda.so.1');
fake.build(libcuda, DRIVER);

/** The folder of the fake's libcuda.so.1. */
export const fakeCudaFolder = fake.folder;

/** The environment of a process that finds the fake. */
export const withFakeCuda = (env: NodeJS.ProcessEnv = process.env) =>
  withLibrariesOf(fake.folder, env);

/**
 * Loads the fake into the process of the test file. Call before libfabric is used. With the runtime, a libfabric that
 * was built with CUDA finds a device. Such a libfabric also copies with GDRCopy, if that is loaded.
 */
export function loadFakeCuda({ runtime = false, gdrcopy = false } = {}): void {
  const over = [
    ...(runtime ? [buildOver('libcudart.so', 'runtime.cc')] : []),
    ...(gdrcopy ? [buildOver('libgdrapi.so', 'gdrcopy.cc')] : []),
  ];
  fake.load(libcuda, ...over);
}

// Builds a library over the fake driver, beside it.
function buildOver(name: string, file: string): string {
  const library = join(fake.folder, name);
  fake.build(library, [file, libcuda]);
  return library;
}

export const { calls } = fake;

/** The changes since `before`. */
export function callsSince(before: Record<string, number>): Record<string, number> {
  const changed = Object.entries(calls()).filter(([name, count]) => count !== before[name]);
  return Object.fromEntries(changed.map(([name, count]) => [name, count - (before[name] ?? 0)]));
}

/** The resources that the program has not released: memory, contexts and descriptors. */
export function held() {
  const counted = calls();
  return {
    ...fake.held(),
    contexts: counted['held:contexts'] ?? 0,
    pushed: counted['held:pushed'] ?? 0,
  };
}
