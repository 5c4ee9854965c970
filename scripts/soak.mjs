// `npm run soak -- [--minutes 30] [--churn 100000] [--json FILE] [--picture FILE.svg] [--provider NAME]`: a mixed load with
// peers that come and go, and whether the process grows: see test/soak/.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root, SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';

try {
  setup();
  const args = ['--expose-gc', join(root, 'test/soak/main.mjs'), ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
