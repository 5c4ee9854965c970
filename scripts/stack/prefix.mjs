// A libfabric in a folder of its own, instead of the installed one.
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root, SetupError } from '../setup/step.mjs';

// Prints the path and the version of the libfabric that a process has loaded.
const PROBE = `
import { readFileSync } from 'node:fs';
import { version } from './dist/index.js';
const loaded = version().string;
const file = readFileSync('/proc/self/maps', 'utf8').match(/\\/\\S*\\/libfabric\\.so\\S*/)?.[0];
console.log(JSON.stringify({ version: loaded, file }));
`;

/** The file and version of the libfabric that the built package loads in this environment. */
export function loadedLibfabric(env = {}) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', PROBE],
    { cwd: root, encoding: 'utf8', env: { ...process.env, ...env } },
  );
  if (status !== 0) throw new SetupError(`libfabric does not load:\n${stderr}`);
  return JSON.parse(stdout);
}

/** The variables with which commands come from a folder and load its libfabric. */
export function environmentOf(folder) {
  const prefix = resolve(folder);
  const library = ['lib', 'lib64']
    .map((name) => join(prefix, name))
    .find((name) => existsSync(join(name, 'libfabric.so.1')));
  if (!library) throw new SetupError(`there is no lib/libfabric.so.1 in ${prefix}`);
  const before = (path, others) => (others ? `${path}:${others}` : path);
  return {
    LD_LIBRARY_PATH: before(library, process.env.LD_LIBRARY_PATH),
    PATH: before(join(prefix, 'bin'), process.env.PATH), // fi_info, fi_pingpong
  };
}

/** Throws SetupError if the package does not load the libfabric of the folder. */
export function checkLoaded(folder, { file }) {
  if (!file?.startsWith(`${realpathSync(folder)}/`)) {
    throw new SetupError(`the package loads ${file}, not the libfabric of ${folder}`);
  }
}
