// clang with its sanitizers, and the headers that C++ without Node.js is built with.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeHeadersPrefix } from './native.mjs';
import { SetupError } from './step.mjs';
import { onPath, systemPackages } from './system.mjs';

const CLANG = { name: 'clang', present: () => onPath('clang++'), apt: ['clang'], dnf: ['clang'] };
const MAKE = { name: 'make', present: () => onPath('make'), apt: ['make'], dnf: ['make'] };

/** Whether clang builds a program with these sanitizers. */
function compiles(names) {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-clang-'));
  try {
    const source = join(folder, 'probe.cc');
    const fuzzer = 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }';
    writeFileSync(source, names.includes('fuzzer') ? fuzzer : 'int main() {}');
    const args = [`-fsanitize=${names}`, source, '-o', join(folder, 'probe')];
    return spawnSync('clang++', args).status === 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Installs clang, make, and clang's runtime libraries for these sanitizers: 'fuzzer,address'. */
export async function sanitizers(names) {
  await systemPackages([CLANG, MAKE]);
  const { stdout } = spawnSync('clang++', ['--version'], { encoding: 'utf8' });
  const major = stdout.match(/version (\d+)/)?.[1];
  await systemPackages([
    {
      name: 'the runtime libraries of clang',
      present: () => compiles(names),
      apt: [`libclang-rt-${major}-dev`],
      dnf: ['compiler-rt'],
    },
  ]);
}

/** The folder of Node's headers: those of this Node, or those that the addon was built with. */
export function nodeHeaders() {
  const prefix = nodeHeadersPrefix();
  if (prefix) return join(prefix, 'include/node');
  const cached = join(process.env.HOME ?? '', '.cache/node-gyp', process.versions.node);
  if (existsSync(cached)) return join(cached, 'include/node');
  throw new SetupError('Node has no headers installed; build the addon first: npm run setup');
}
