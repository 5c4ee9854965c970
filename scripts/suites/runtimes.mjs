// `npm run suite -- runtimes`: runs small programs on the newest Bun and Deno, whose binaries come from the npm registry. Bun
// must pass them all. Deno must get an error with a code from each first call.
import { SetupError } from '../setup/step.mjs';
import { setup } from '../setup.mjs';
import { installProgram } from '../stack/node.mjs';
import { sum, tallyOf } from '../tally.mjs';

const ARCHITECTURES = { x64: ['x64', 'x64'], arm64: ['aarch64', 'arm64'] };

export default async function runtimes() {
  await setup();
  const [ofBun, ofDeno] = ARCHITECTURES[process.arch] ?? [];
  if (ofBun === undefined) throw new SetupError(`there is no Bun and no Deno for ${process.arch}`);
  const bun = installProgram('bun', `@oven/bun-linux-${ofBun}`, 'latest', 'bin/bun');
  const deno = installProgram('deno', `@deno/linux-${ofDeno}-glibc`, 'latest', 'deno');
  return sum(
    await tallyOf(process.execPath, ['test/runtimes/supported.mjs']),
    await tallyOf(bun, ['test/runtimes/supported.mjs']),
    await tallyOf(deno, ['run', '--allow-all', 'test/runtimes/refused.mjs']),
  );
}
