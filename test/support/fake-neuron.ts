// The fake of the Neuron runtime in test/programs/fake-neuron. Its memory is a memfd that the host maps without access.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { loadPreload } from '../../dist/load.js';

const source = fileURLToPath(new URL('../programs/fake-neuron/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'libfabric-fake-neuron-'));
const countersFile = join(folder, 'counters');
afterAll(() => rmSync(folder, { recursive: true }));

/** Builds the fake. `old` has no nrt_get_dmabuf_fd_v2. Returns the folder of its libnrt.so.1. */
export function buildFakeNeuron({ old = false } = {}): string {
  const target = old ? mkdtempSync(join(folder, 'old-')) : folder;
  const flags = [
    '-std=c++17',
    '-O1',
    '-shared',
    '-fPIC',
    '-fvisibility=hidden',
    '-Wl,-soname,libnrt.so.1',
  ];
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  const which = old ? ['-DOLD_DMABUF'] : [];
  const args = [...flags, ...warnings, ...which, '-o', join(target, 'libnrt.so.1'), 'nrt.cc'];
  execFileSync('g++', args, { cwd: source });
  return target;
}

/** The environment of a process that finds a fake in a folder. */
export function withFakeNeuron(target: string): NodeJS.ProcessEnv {
  const path = [target, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return { ...process.env, LD_LIBRARY_PATH: path };
}

const VARIABLES = ['CORES', 'VISIBLE', 'ADDRESS', 'FAIL', 'COUNTERS'];

/** Loads the fake into the process of the test file. Returns its folder. */
export function loadFakeNeuron(): string {
  const failure = loadPreload().loadGlobal(join(buildFakeNeuron(), 'libnrt.so.1'));
  if (failure !== undefined) throw new Error(failure);
  const reset = () => {
    for (const name of VARIABLES) delete process.env[`FAKE_NEURON_${name}`];
    process.env.FAKE_NEURON_COUNTERS = countersFile;
  };
  beforeEach(reset);
  afterEach(reset);
  return folder;
}

/** How often each function was called in this process, and what FAKE_NEURON_COUNTERS tells. */
export const calls = (): Record<string, number> => countersIn(countersFile);

/** The counters in a file of FAKE_NEURON_COUNTERS. */
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

/** What the program has not given back. */
export function held() {
  const maps = readFileSync('/proc/self/maps', 'latin1').match(/memfd:fake-neuron/g)?.length ?? 0;
  return {
    memory: calls()['held:memory'] ?? 0,
    maps,
    descriptors: readdirSync('/proc/self/fd').length,
  };
}
