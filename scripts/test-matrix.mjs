// `npm run test:matrix [-- NAME ...]`: whether the package works, or says why it does not, for unprivileged users, in
// containers with little, and so on: see test/matrix/systems.mjs.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';

try {
  setup();
  const folder = join(root, 'build/matrix');
  mkdirSync(folder, { recursive: true });
  const launcher = join(root, 'test/softefa/launchers/without_process_vm.cc');
  execFileSync('g++', ['-std=c++17', '-O1', '-o', join(folder, 'without_process_vm'), launcher]);
  const program = join(root, 'test/matrix/main.mjs');
  const args = [program, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
