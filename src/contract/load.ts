import { existsSync } from 'node:fs';
import module from 'node:module'; // webpack warns of a named import of createRequire
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// A variable of its own, because a bundler that sees `new URL(..., import.meta.url)` copies the package's files.
// Undefined in a bundle of CommonJS modules.
const thisFile: string | undefined = import.meta.url;

const ADDON = 'The native addon of libfabric';
/** Symbol versions of glibc and of libstdc++. */
const SYSTEM: readonly string[] = ['GLIBC', 'GLIBCXX', 'CXXABI'];

/** The native handle of a namespace that this process has entered. */
export type Entered = { readonly __entered: never };

/** native/preload */
export interface Preload {
  /** Returns the error text, or undefined on success. */
  loadGlobal(path: string, ...namesAndValues: string[]): string | undefined;
  /** Joins a namespace of software devices. Returns its folder and the handle to leave it. */
  enterNamespace(library: string, directory: string, name: string): [string, Entered];
  leaveNamespace(library: string, entered: Entered): void;
  /** Removes a namespace unless processes use it. Returns the number of these processes. */
  removeNamespace(library: string, directory: string, name: string): number;
}

/** The folder of the addon: in a checkout the build folder, otherwise the prebuilt binaries. */
export function addonFolder(): string {
  const chosen = process.env.LIBFABRIC_ADDON_DIR;
  if (chosen) return resolve(chosen);
  const built = inPackage('build/Release');
  return existsSync(built) ? built : inPackage(`prebuilds/linux-${process.arch}`);
}

function inPackage(path: string): string {
  if (thisFile === undefined) throw binaryNotFound(ADDON, 'this bundle does not know where it is');
  return fileURLToPath(new URL(`../../${path}`, thisFile));
}

/** Loads the native addon. The error of a failure names the missing part and the way to get it. */
export function loadAddon(): unknown {
  // The preload sets environment variables that libfabric reads while it is being loaded.
  const [, addon] = loadAll(['preload.node', 'libfabric.node']);
  return addon;
}

/** Loads the preload addon, without libfabric. */
export function loadPreload(): Preload {
  return loadAll(['preload.node'])[0] as Preload;
}

/** A function that uses an addon, which the first call loads. It throws what `explain` makes of errors. */
export function callerOf<A>(load: () => unknown, explain: (error: unknown) => unknown) {
  let addon: A | undefined;
  return <T>(use: (addon: A) => T): T => {
    addon ??= load() as A;
    try {
      return use(addon);
    } catch (error) {
      throw explain(error);
    }
  };
}

/** Loads the addon of libfabric/verbs, without libfabric and without rdma-core. */
export function loadVerbs(): unknown {
  return loadAll(['verbs.node'])[0];
}

/** Loads the addon of libfabric/cuda, without libfabric and without the CUDA driver. */
export function loadCuda(): unknown {
  return loadAll(['cuda.node'])[0];
}

/** Loads the addon of libfabric/neuron, without libfabric and without the Neuron runtime. */
export function loadNeuron(): unknown {
  return loadAll(['neuron.node'])[0];
}

function loadAll(names: readonly string[]): unknown[] {
  const folder = addonFolder();
  const files = names.map((name) => join(folder, name));
  if (process.platform !== 'linux') throw unsupportedPlatform();
  if (process.versions.deno !== undefined) throw unsupportedRuntime();
  const missing = files.find((file) => !existsSync(file));
  if (missing)
    throw isMusl() ? unsupportedPlatform() : binaryNotFound(ADDON, `${missing} does not exist`);
  return files.map((file) => {
    try {
      return module.createRequire(file)(file);
    } catch (error) {
      throw explainDlopen(error, file);
    }
  });
}

/** Explains a known failure of dlopen(3). */
function explainDlopen(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_DLOPEN_FAILED') {
    return error;
  }
  if (isMusl()) return unsupportedPlatform(error);
  const [, missing] = /(\S+\.so[.\d]*): cannot open shared object file/.exec(error.message) ?? [];
  if (missing && !file.endsWith(missing)) return libraryNotFound(missing, error);
  const [, version] = /version [`'‘]([A-Z]+)_[\d.]+' not found/.exec(error.message) ?? [];
  if (version === 'FABRIC') return libraryTooOld(error);
  if (version !== undefined && SYSTEM.includes(version)) return systemTooOld(error);
  return error;
}

function coded(code: string, lines: string[], cause?: Error): Error {
  const error = new Error(lines.join('\n'), cause && { cause });
  return Object.assign(error, { code });
}

/** The error for a missing binary of the package. */
export function binaryNotFound(name: string, problem: string): Error {
  return coded('ERR_ADDON_NOT_FOUND', [
    `${name} was not found on ${platform()}: ${problem}.`,
    'The package contains it for Linux x64 and arm64, in prebuilds/. If a bundler has moved the code of the',
    'package, make libfabric external, or set LIBFABRIC_ADDON_DIR to the folder of the addon',
    `(node_modules/libfabric/prebuilds/linux-${process.arch}). Elsewhere, build it with \`npm run setup\` in a`,
    'clone of the repository, which needs a C++ compiler and the headers of libfabric, and set',
    'LIBFABRIC_ADDON_DIR to its build/Release.',
  ]);
}

function systemTooOld(cause: Error): Error {
  return coded(
    'ERR_UNSUPPORTED_PLATFORM',
    [
      `The addon needs glibc 2.34 and the libstdc++ of GCC 11, or newer; this is ${platform()}:`,
      `  ${cause.message}`,
      'Use a newer distribution (Amazon Linux 2023, Debian 12, Ubuntu 22.04, RHEL 9 or later), or',
      'build the addon here: `npm run setup` in a clone of the repository, then set',
      'LIBFABRIC_ADDON_DIR to its build/Release.',
    ],
    cause,
  );
}

function libraryNotFound(library: string, cause: Error): Error {
  const path = process.env.LD_LIBRARY_PATH;
  return coded(
    'ERR_LIBFABRIC_NOT_FOUND',
    [
      `${library} was not found on ${platform()}. The linker searched`,
      '  /opt/amazon/efa/lib64, /opt/amazon/efa/lib',
      `  LD_LIBRARY_PATH (${path ? path : 'not set'})`,
      "  the system's linker path (see ldconfig -p)",
      'Install libfabric: apt-get install libfabric1 (Debian, Ubuntu), dnf install libfabric',
      '(Amazon Linux, Fedora), or the EFA installer, which puts it in /opt/amazon/efa:',
      '  https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html',
    ],
    cause,
  );
}

function libraryTooOld(cause: Error): Error {
  return coded(
    'ERR_LIBFABRIC_TOO_OLD',
    [
      `The libfabric found on ${platform()} is older than the one this addon was built with:`,
      `  ${cause.message}`,
      'Update libfabric to 1.17 or newer, or build the addon against this one: `npm run setup` in a',
      'clone of the repository.',
    ],
    cause,
  );
}

function unsupportedPlatform(cause?: Error): Error {
  return coded(
    'ERR_UNSUPPORTED_PLATFORM',
    [`libfabric for Node.js runs on Linux with glibc (x64, arm64); this is ${platform()}.`],
    cause,
  );
}

// Deno ends with a signal in libuv's functions, which it lacks or only pretends to have.
function unsupportedRuntime(): Error {
  return coded('ERR_UNSUPPORTED_PLATFORM', [
    `libfabric does not run on Deno ${process.versions.deno}, which lacks functions of libuv that the addon needs.`,
    'Use Node.js 20.19 or newer, or Bun.',
  ]);
}

/** `'linux x64, glibc 2.36'`. */
function platform(): string {
  const { platform: name, arch } = process;
  if (name !== 'linux') return `${name} ${arch}`;
  const glibc = glibcVersion();
  return `${name} ${arch}, ${glibc ? `glibc ${glibc}` : 'musl'}`;
}

function isMusl(): boolean {
  return process.platform === 'linux' && glibcVersion() === undefined;
}

// The report takes milliseconds, so it is created only after loading has failed.
function glibcVersion(): string | undefined {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime;
}
