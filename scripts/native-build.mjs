// The native build: its targets, their sources, defines and flags. binding.gyp, CMakeLists.txt and the Makefiles of the
// tests and fuzzers ask for them:
//
//   node scripts/native-build.mjs units [--into FOLDER] [--without FILE] TARGET|FOLDER ...
//   node scripts/native-build.mjs targets|defines|cflags
//   node scripts/native-build.mjs ldflags TARGET
//
// `units` prints the translation units. Most of the time of a small source file goes to headers, so a unit includes the
// sources of a folder: the whole build takes a quarter of the time. The names in the anonymous namespaces of a folder
// must therefore differ. With LIBFABRIC_UNITS=files each source is a unit, so that only changed files are compiled.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../', import.meta.url));

// ArrayBuffers outlive the worker that loaded an addon, and end in its code.
const STAYS = '-Wl,-z,nodelete';

/** The folders of each target, and the flags of its linker. The names are those of binding.gyp. */
export const TARGETS = {
  libfabric: {
    folders: ['providers', 'engine', 'objects', 'transfer', 'net', 'storage', 'js'].map(
      (name) => `native/${name}`,
    ),
    ldflags: [STAYS],
  },
  preload: { folders: ['native/preload'] },
  // Not linked with rdma-core, which may be missing: native/verbs/library.h.
  verbs: { folders: ['native/verbs'] },
  // Not linked with the CUDA driver, which may be missing: native/cuda/driver.h.
  cuda: { folders: ['native/cuda'] },
  // Not linked with the Neuron runtime, which may be missing: native/neuron/runtime.h.
  neuron: { folders: ['native/neuron'] },
  softefa: {
    folders: ['native/softefa'],
    library: true,
    ldflags: [
      '-pthread',
      STAYS,
      `-Wl,--version-script=${join(root, 'native/softefa/symbols.map')}`,
    ],
  },
};

/** The files that the targets are built to. */
export const BINARIES = Object.entries(TARGETS).map(([name, { library }]) =>
  library ? `lib${name}.so` : `${name}.node`,
);

export const DEFINES = [
  'NAPI_VERSION=9',
  'NODE_ADDON_API_CPP_EXCEPTIONS',
  'NODE_ADDON_API_DISABLE_DEPRECATED',
  'NODE_ADDON_API_REQUIRE_BASIC_FINALIZERS',
  // An exception that is thrown while a worker is being terminated cannot be caught.
  'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
];
export const CFLAGS = ['-std=c++17', '-fvisibility=hidden', '-Wall', '-Wextra'];

/** Bytes of the sources of a unit, at most. Larger units would leave cores idle at the end of a build. */
const MOST = 150_000;

const sourcesOf = (folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.cc'))
    .sort()
    .map((file) => `${folder}/${file}`);

const sizeOf = (files) =>
  files.reduce((sum, file) => sum + readFileSync(join(root, file)).length, 0);

/** Splits the sources of a folder into parts of about the same number of bytes. */
function split(files) {
  const all = sizeOf(files);
  const count = Math.ceil(all / MOST);
  const parts = Array.from({ length: count }, () => []);
  let before = 0;
  for (const file of files) {
    parts[Math.floor((count * before) / all)].push(file);
    before += sizeOf([file]);
  }
  return parts;
}

/** The sources of each unit: large folders are split, and small ones that follow each other share a unit. */
function grouped(folders, without) {
  const groups = [];
  for (const folder of folders) {
    const parts = split(sourcesOf(folder).filter((file) => !without.includes(file)));
    for (const part of parts) {
      const last = groups.at(-1);
      if (parts.length === 1 && last && sizeOf([...last, ...part]) <= MOST) last.push(...part);
      else groups.push(part);
    }
  }
  return groups;
}

/** Writes a file, unless it has this text: its time tells make what to build again. */
function writeIfChanged(file, text) {
  try {
    if (readFileSync(file, 'utf8') === text) return;
  } catch {
    mkdirSync(dirname(file), { recursive: true });
  }
  writeFileSync(file, text);
}

/** The translation units of folders, as paths in the root. Writes those that include others. */
function unitsOf(folders, into, without) {
  const groups = grouped(folders, without);
  if (process.env.LIBFABRIC_UNITS === 'files') return groups.flat();
  const nameOf = ([first]) => dirname(first).replaceAll('/', '-');
  return groups.map((files, index) => {
    const name = nameOf(files);
    const part = groups.slice(0, index).filter((other) => nameOf(other) === name).length;
    const unit = `${into}/${name}${part === 0 ? '' : `-${part + 1}`}.cc`;
    const up = relative(dirname(unit), '.');
    writeIfChanged(join(root, unit), files.map((file) => `#include "${up}/${file}"\n`).join(''));
    return unit;
  });
}

const foldersOf = (name) => TARGETS[name]?.folders ?? [name];

function answer(question, names, { into, without }) {
  switch (question) {
    case 'units':
      return unitsOf(names.flatMap(foldersOf), into, without);
    case 'targets':
      return Object.keys(TARGETS);
    case 'defines':
      return DEFINES;
    case 'cflags':
      return CFLAGS;
    case 'ldflags':
      return names.flatMap((name) => TARGETS[name].ldflags ?? []);
    default:
      throw new Error(`units, targets, defines, cflags or ldflags, not ${question}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: {
      into: { type: 'string', default: 'build/units' },
      without: { type: 'string', multiple: true, default: [] },
    },
    allowPositionals: true,
  });
  const [question, ...names] = positionals;
  console.log(answer(question, names, values).join('\n'));
}
