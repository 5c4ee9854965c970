// `npm run test:faults [-- calls | verbs | simulation] [options]`: fails calls of libfabric, and of verbs, one by one, and
// runs random programs with random faults: see test/faults/.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root, SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';

const PARTS = {
  calls: ['calls'],
  verbs: ['calls', '--layer', 'verbs'],
  simulation: ['simulation'],
};

const [first, ...others] = process.argv.slice(2);
const named = Object.hasOwn(PARTS, first ?? '');
// Options such as --seed belong to the simulation.
const parts = named ? [first] : first === undefined ? Object.keys(PARTS) : ['simulation'];
const args = named ? others : process.argv.slice(2);

try {
  setup();
  for (const part of parts) {
    const [folder, ...fixed] = PARTS[part];
    const program = join(root, 'test/faults', folder, 'main.mjs');
    const { status } = spawnSync(process.execPath, [program, ...fixed, ...args], {
      stdio: 'inherit',
    });
    if (status !== 0) process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
