// `npm run bench [-- transfer | net | objects | softefa | device-memory] [options]`: runs the setup and then a benchmark of bench/, by default
// the comparison with C++, node:net and zeromq.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './setup/step.mjs';
import { runMain, setup } from './setup.mjs';

const NAMED = ['transfer', 'net', 'objects', 'softefa', 'device-memory'];

await runMain(async () => {
  await setup();
  const [first, ...others] = process.argv.slice(2);
  const named = NAMED.includes(first);
  const file = join(root, 'bench', `${named ? first : 'run'}.mjs`);
  const args = named ? others : process.argv.slice(2);
  process.exitCode = spawnSync(process.execPath, [file, ...args], { stdio: 'inherit' }).status ?? 1;
});
