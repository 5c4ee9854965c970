// The fake of the Neuron runtime in test/programs/fake-neuron.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { FakeLibrary, withLibrariesOf } from './fake-library.js';

const fake = new FakeLibrary('neuron', ['CORES', 'VISIBLE', 'ADDRESS', 'FAIL', 'COUNTERS']);

/** Builds the fake. `old` has no nrt_get_dmabuf_fd_v2. Returns the folder of its libnrt.so.1. */
export function buildFakeNeuron({ old = false } = {}): string {
  const target = old ? mkdtempSync(join(fake.folder, 'old-')) : fake.folder;
  fake.build(join(target, 'libnrt.so.1'), ['nrt.cc'], old ? ['-DOLD_DMABUF'] : []);
  return target;
}

/** The environment of a process that finds a fake in a folder. */
export const withFakeNeuron = (target: string) => withLibrariesOf(target, process.env);

/** Loads the fake into the process of the test file. Returns its folder. */
export function loadFakeNeuron(): string {
  fake.load(join(buildFakeNeuron(), 'libnrt.so.1'));
  return fake.folder;
}

export const { calls } = fake;

/** The resources that the program has not released. */
export const held = () => fake.held();
