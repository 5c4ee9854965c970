// `npm run prebuild [-- x64|arm64 ...]`: the binaries that the package brings, into prebuilds/, for both
// architectures unless told otherwise. Built on Debian 12 they are good for the oldest system that is
// promised; whether they are is checked in the end.
import { ARCHITECTURES } from './prebuild/binaries.mjs';
import { compile } from './prebuild/compile.mjs';
import { announce, run, SetupError } from './setup/step.mjs';
import { runMain, setup } from './setup.mjs';

runMain(() => {
  const asked = process.argv.slice(2);
  const unknown = asked.find((arch) => !ARCHITECTURES.includes(arch));
  if (unknown) throw new SetupError(`npm run prebuild -- [${ARCHITECTURES.join('|')} ...]`);
  setup();
  const architectures = asked.length > 0 ? asked : ARCHITECTURES;
  for (const arch of architectures) {
    announce(`compiling for ${arch}`);
    compile(arch);
  }
  run(process.execPath, ['scripts/check-binaries.mjs', ...architectures]);
});
