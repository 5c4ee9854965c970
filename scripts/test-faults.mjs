// `npm run test:faults [-- calls | simulation] [options]`: fails calls of libfabric one by one, and runs random programs
// with random faults: see test/faults/.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root, SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';

const PARTS = ['calls', 'simulation'];

const [first, ...others] = process.argv.slice(2);
const named = PARTS.includes(first);
// Options such as --seed belong to the simulation.
const parts = named ? [first] : first === undefined ? PARTS : ['simulation'];
const args = named ? others : process.argv.slice(2);

try {
  setup();
  for (const part of parts) {
    const program = join(root, 'test/faults', part, 'main.mjs');
    const { status } = spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
