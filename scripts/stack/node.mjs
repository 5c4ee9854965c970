// Releases of Node.js from the npm registry.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, SetupError } from '../setup/step.mjs';

/** Installs a release into build-node/ if needed. Returns its program. */
export function installNode(release, arch = process.arch) {
  const version = arch === process.arch ? `${release}` : `${release}-${arch}`;
  const folder = join(root, 'build-node', version);
  const name = `node-linux-${arch}`;
  const program = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const options = ['--no-audit', '--no-fund', '--no-save'];
  if (arch !== process.arch) options.push('--force'); // of another processor
  const args = ['install', ...options, `${name}@${release}`];
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' });
  if (status !== 0) throw new SetupError(`${name}@${release} cannot be installed`);
  return program;
}
