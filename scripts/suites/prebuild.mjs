// `npm run suite -- prebuild`: compiles the package's binaries for the other architecture, and checks that they load on the
// oldest supported system. It is skipped if the cross compiler is not available.
import { spawnSync } from 'node:child_process';
import { ARCHITECTURES } from '../prebuild/binaries.mjs';
import { crossCompiler } from '../prebuild/compile.mjs';
import { root, SetupError } from '../setup/step.mjs';
import { Skipped } from '../tally.mjs';

export default async function prebuild() {
  const other = ARCHITECTURES.find((arch) => arch !== process.arch);
  await crossCompiler(other).catch((error) => {
    throw error instanceof SetupError ? new Skipped(error.message) : error;
  });
  const script = ['scripts/prebuild.mjs', other];
  const { status } = spawnSync(process.execPath, script, { cwd: root, stdio: 'inherit' });
  if (status !== 0) console.log(`failed: prebuild for ${other}`);
  return status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}
