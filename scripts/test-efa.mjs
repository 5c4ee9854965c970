// `npm run test:efa -- synchronous|reordering|shm|0xefa1|newest [vitest's arguments]`: the tests of the efa
// provider again, with a device that moves data at once, one that reorders and delays, with shm transfer
// between endpoints of one host, or with a device of another part than 0xefa2.
import { SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';
import { ONLY_THE_LIBRARY, prepare, runSuite } from './test.mjs';

const CONDITIONS = {
  synchronous: { LIBFABRIC_TEST_EFA: 'synchronous' },
  reordering: { LIBFABRIC_TEST_EFA: 'reordering' },
  shm: { FI_EFA_ENABLE_SHM_TRANSFER: '1' },
  '0xefa1': { SOFTEFA_PART_ID: '0xefa1' },
  newest: { SOFTEFA_PART_ID: '0xefa3' },
};

const [condition, ...args] = process.argv.slice(2);
const env = prepare(() => {
  if (!(condition in CONDITIONS)) {
    throw new SetupError(`npm run test:efa -- ${Object.keys(CONDITIONS).join('|')}`);
  }
  setup();
  return CONDITIONS[condition];
});
if (env) runSuite(['-t', 'efa', ...ONLY_THE_LIBRARY, ...args], env);
