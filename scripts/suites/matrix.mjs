// `npm run suite -- matrix [NAME ...]`: whether the package works, or reports why it does not, for unprivileged users,
// in minimal containers, and so on: see test/matrix/systems.mjs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from '../setup/step.mjs';
import { setup } from '../setup.mjs';
import { tallyOf } from '../tally.mjs';

export default async function matrix(args) {
  await setup();
  const folder = join(root, 'build/matrix');
  mkdirSync(folder, { recursive: true });
  const launcher = join(root, 'test/softefa/launchers/without_process_vm.cc');
  await run('g++', ['-std=c++17', '-O1', '-o', join(folder, 'without_process_vm'), launcher]);
  return tallyOf(process.execPath, [join(root, 'test/matrix/main.mjs'), ...args]);
}
