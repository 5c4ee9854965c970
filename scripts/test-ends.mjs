// `npm run test:ends [-- --rounds 1000 --seed TEXT --provider NAME --only NUMBER --pending --verbose]`: ends
// peers, workers and processes in many ways during many operations, at random moments: see test/ends/.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root, SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';

try {
  setup();
  const args = [join(root, 'test/ends/main.mjs'), ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
