// `npm test [-- vitest's arguments]`: runs the setup and then the tests. `--times FILE` writes what each file cost: time,
// CPU time and number of processes. The last line is always `N passed, N failed[, N skipped]`.
import { setup } from './setup.mjs';
import { conclude } from './tally.mjs';
import { vitest } from './vitest.mjs';

await conclude(async () => {
  await setup();
  return vitest(process.argv.slice(2));
});
