// Compiles the C++ programs of bench/ into build/bench/ if they are older than their sources.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const shared = `${root}bench/cpp/`;
export const built = `${root}build/bench/`;

/** Compiles *.cc of bench/cpp or of another folder, which may include the headers of bench/cpp. */
export function buildLoops(folder = 'cpp') {
  const sources = `${root}bench/${folder}/`;
  mkdirSync(built, { recursive: true });
  const files = readdirSync(sources);
  const headers = [...new Set([shared, sources])].flatMap(headersOf);
  const newestHeader = Math.max(...headers.map(modified));
  const cflags = libfabricFlags('--cflags');
  const libs = libfabricFlags('--libs');
  for (const file of files.filter((name) => name.endsWith('.cc'))) {
    const program = built + file.replace(/\.cc$/, '');
    if (modified(program) > Math.max(newestHeader, modified(sources + file))) continue;
    const flags = ['-std=c++17', '-O2', '-Wall', '-Wextra', '-Werror', '-pthread'];
    const includes = [`-I${root}native`, `-I${shared}`, ...cflags];
    const args = [...flags, ...includes, sources + file, '-o', program, ...libs];
    execFileSync(process.env.CXX ?? 'g++', args, { stdio: 'inherit' });
  }
}

const headersOf = (folder) =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.h'))
    .map((file) => folder + file);
const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function libfabricFlags(which) {
  const script = `${root}scripts/libfabric-flags.mjs`;
  const { stdout } = spawnSync(process.execPath, [script, which], { encoding: 'utf8' });
  return stdout.trim().split(/\s+/).filter(Boolean);
}
