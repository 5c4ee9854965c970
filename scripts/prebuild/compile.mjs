// Compiles for one architecture with prebuildify. This happens in a copy of the sources, because prebuildify
// builds from scratch and moves the result, and the build of the checkout must stay.
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { nodeHeadersPrefix } from '../setup/native.mjs';
import { root, run } from '../setup/step.mjs';
import { onPath, systemPackages } from '../setup/system.mjs';
import { BINARIES, prebuildFolder } from './binaries.mjs';
import { importLibrary } from './import-library.mjs';

const TRIPLETS = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
const SOURCES = ['package.json', 'binding.gyp', 'native', 'scripts'];

/** Debian's cross compiler for an architecture. Installs it if it is missing, or throws a SetupError. */
export async function crossCompiler(arch) {
  const tool = (name) => `${TRIPLETS[arch]}-${name}`;
  const packaged = `g++-${TRIPLETS[arch].replace('_', '-')}`;
  await systemPackages([
    { name: tool('g++'), present: () => onPath(tool('g++')), apt: [packaged], dnf: [packaged] },
  ]);
  return { CC: tool('gcc'), CXX: tool('g++'), AR: tool('ar'), STRIP: tool('strip') };
}

function stage(arch) {
  const folder = join(root, 'build-prebuild', arch);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of SOURCES) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Fills prebuilds/linux-<arch>. */
export async function compile(arch) {
  const cross = arch !== process.arch;
  const tools = cross ? await crossCompiler(arch) : {};
  const strip = tools.STRIP ?? 'strip';
  const folder = stage(arch);
  const prebuilds = prebuildFolder(arch);
  rmSync(prebuilds, { recursive: true, force: true });

  const env = { ...tools, npm_config_jobs: String(Math.min(availableParallelism(), 8)) };
  const headers = nodeHeadersPrefix(); // the same for every architecture
  if (headers) env.npm_config_nodedir = headers;
  if (cross) env.LDFLAGS = `-L${await importLibrary(folder, tools.CC)}`;
  const prebuildify = join(root, 'node_modules/prebuildify/bin.js');
  const options = [`--arch=${arch}`, `--target=${process.version}`, '--name=libfabric'];
  const places = [`--cwd=${folder}`, `--out=${root}`, '--strip', `--strip-bin=${strip}`];
  await run(process.execPath, [prebuildify, ...options, ...places], { env, what: 'prebuildify' });

  // prebuildify moves the first addon that it finds, as libfabric.node, and copies the libraries.
  for (const name of BINARIES.filter((each) => each.endsWith('.node'))) {
    const linked = join(folder, 'build/Release/obj.target', name);
    await run(strip, ['--strip-all', '-o', join(prebuilds, name), linked]);
  }
}
