// `npm run prebuilds [-- x64|arm64 ...]`: builds the binaries of the package into prebuilds/, by default for
// both architectures. Binaries built on Debian 12 load on the oldest supported system; the script checks
// this at the end.
import { ARCHITECTURES } from './prebuild/binaries.mjs';
import { compile } from './prebuild/compile.mjs';
import { announce, run, SetupError } from './setup/step.mjs';
import { runMain, setup } from './setup.mjs';

await runMain(async () => {
  const asked = process.argv.slice(2);
  const unknown = asked.find((arch) => !ARCHITECTURES.includes(arch));
  if (unknown) throw new SetupError(`npm run prebuilds -- [${ARCHITECTURES.join('|')} ...]`);
  await setup();
  const architectures = asked.length > 0 ? asked : ARCHITECTURES;
  for (const arch of architectures) {
    announce(`compiling for ${arch}`);
    await compile(arch);
  }
  await run(process.execPath, ['scripts/check-binaries.mjs', ...architectures]);
});
