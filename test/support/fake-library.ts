// A fake of an accelerator's library in test/programs/fake-NAME. Its memory is a memfd that the host maps without access.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HmemMemory } from 'libfabric';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { loadPreload } from '../../dist/contract/load.js';

type HmemType = HmemMemory['type'];

const programs = fileURLToPath(new URL('../programs', import.meta.url));
const built = fileURLToPath(new URL('../../build/fakes', import.meta.url));

/** The fake of a test file, in a folder of its own. `variables` are those of its FAKE_NAME_... that tests set. */
export class FakeLibrary {
  readonly folder: string;
  readonly #name: string;
  readonly #variables: readonly string[];
  readonly #counters: string;

  constructor(name: HmemType, variables: readonly string[]) {
    this.#name = name;
    this.#variables = variables.map((each) => this.#variable(each));
    this.folder = mkdtempSync(join(tmpdir(), `libfabric-fake-${name}-`));
    this.#counters = join(this.folder, 'counters');
    afterAll(() => rmSync(this.folder, { recursive: true }));
  }

  #variable(name: string): string {
    return `FAKE_${this.#name.toUpperCase()}_${name}`;
  }

  /** Builds a library from sources of the fake, and libraries in its folder. Test files share the built libraries. */
  build(library: string, files: readonly string[], more: readonly string[] = []): void {
    const flags = ['-std=c++17', '-O1', '-shared', '-fPIC', '-fvisibility=hidden'];
    const warnings = ['-Wall', '-Wextra', '-Werror'];
    const link = [`-Wl,-soname,${basename(library)}`, '-Wl,-rpath,$ORIGIN'];
    const args = [...flags, ...warnings, ...more, ...link];
    const folder = join(programs, `fake-${this.#name}`);
    const sources = readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const hash = createHash('sha256').update(
      [...args, ...files.map((file) => basename(file))].join(),
    );
    for (const source of sources.sort()) hash.update(readFileSync(source));
    const made = join(built, `${hash.digest('hex').slice(0, 16)}-${basename(library)}`);
    if (!existsSync(made)) {
      mkdirSync(built, { recursive: true });
      const own = `${made}.${process.pid}`; // other files may build it at the same time
      execFileSync('g++', [...args, '-o', own, ...files], { cwd: folder });
      renameSync(own, made);
    }
    copyFileSync(made, library);
  }

  /** Loads libraries into the process of the test file. Every test begins with the fake's default behaviour. */
  load(...libraries: readonly string[]): void {
    for (const library of libraries) {
      const failure = loadPreload().loadGlobal(library);
      if (failure !== undefined) throw new Error(failure);
    }
    const reset = () => {
      for (const name of this.#variables) delete process.env[name];
      process.env[this.#variable('COUNTERS')] = this.#counters;
    };
    beforeEach(reset);
    afterEach(reset);
  }

  /** How often each function was called in this process, and the other counts of the fake. */
  readonly calls = (): Record<string, number> => countersIn(this.#counters);

  /** The resources that the program has not released. */
  held() {
    const maps = readFileSync('/proc/self/maps', 'latin1').split(`memfd:fake-${this.#name}`);
    return {
      memory: this.calls()['held:memory'] ?? 0,
      maps: maps.length - 1,
      descriptors: readdirSync('/proc/self/fd').length,
    };
  }
}

/** The environment of a process that finds the libraries of a folder. */
export function withLibrariesOf(folder: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = [folder, env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return { ...env, LD_LIBRARY_PATH: path };
}

/** The counters in a file of FAKE_..._COUNTERS. */
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
