// `npm run test:prebuild`: compiles the package's binaries for the other architecture, and checks that they
// load on the oldest supported system. If the cross compiler is not available, the script prints that, and the
// last line counts it as skipped.
import { spawnSync } from 'node:child_process';
import { ARCHITECTURES } from './prebuild/binaries.mjs';
import { crossCompiler } from './prebuild/compile.mjs';
import { root, SetupError } from './setup/step.mjs';

const other = ARCHITECTURES.find((arch) => arch !== process.arch);
try {
  crossCompiler(other);
  const { status } = spawnSync(process.execPath, ['scripts/prebuild.mjs', other], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) console.log(`failed: prebuild for ${other}`);
  console.log(status === 0 ? '1 passed, 0 failed' : '0 passed, 1 failed');
  process.exitCode = status ?? 1;
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(`skipped: ${error.message}`);
  console.log('0 passed, 0 failed, 1 skipped');
}
