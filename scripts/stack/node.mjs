// Releases of Node.js and other runtimes from the npm registry.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, SetupError } from '../setup/step.mjs';

/** Installs a release into build-node/ if needed. Returns its program. */
export function installNode(release, arch = process.arch) {
  const version = arch === process.arch ? `${release}` : `${release}-${arch}`;
  const options = arch === process.arch ? [] : ['--force']; // of another processor
  return installProgram(version, `node-linux-${arch}`, release, 'bin/node', options);
}

/** Installs a package with a program into build-node/FOLDER if needed. Returns its program. */
export function installProgram(folder, name, release, path, options = []) {
  const place = join(root, 'build-node', folder);
  const program = join(place, 'node_modules', name, path);
  if (existsSync(program)) return program;
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--no-audit', '--no-fund', '--no-save', ...options];
  const { status } = spawnSync('npm', [...args, `${name}@${release}`], {
    cwd: place,
    stdio: 'inherit',
  });
  if (status !== 0) throw new SetupError(`${name}@${release} cannot be installed`);
  return program;
}
