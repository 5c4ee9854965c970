// `npm run suite -- efa [--stack bookworm|trixie|forky|DIR] [--fabtests DIR] [--all] [CONDITION] [vitest's
// arguments]`: runs the tests of the efa provider with the libfabric of another stack, under another condition, or
// both. A stack is a release of Debian or the folder of a libfabric installation. If this machine does not run that
// release, debootstrap creates it in a folder. If that is not possible, the last line counts it as skipped. If the
// folder of a libfabric also contains fabtests, its programs run after the whole suite. `--fabtests DIR` runs only
// the programs of that folder, which must be of the same version. `--all` runs all programs.
import { readFileSync } from 'node:fs';
import { SetupError } from '../setup/step.mjs';
import { setup } from '../setup.mjs';
import { CONDITIONS, parseArguments } from '../stack/arguments.mjs';
import { copyTree, ENVIRONMENT, entering, makeDebian } from '../stack/debian.mjs';
import { hasFabtests, runFabtests } from '../stack/fabtests.mjs';
import { checkLoaded, environmentOf, loadedLibfabric } from '../stack/prefix.mjs';
import { Skipped, sum, tallyOf } from '../tally.mjs';
import { ONLY_THE_LIBRARY, vitest, without } from '../vitest.mjs';

const RELEASES = ['bookworm', 'trixie', 'forky'];

// All tests, and queues of the default size. .ci/run asks for the quick tests.
const { LIBFABRIC_TESTS = 'all', LIBFABRIC_TEST_QUEUES = 'default' } = process.env;
const TESTS = { LIBFABRIC_TESTS, LIBFABRIC_TEST_QUEUES };

const releaseOfThisMachine = () =>
  readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(\w+)$/m)?.[1];

/** Runs the tests on this machine, with the installed libfabric or with the one in a folder. */
async function runHere({ folder, fabtests, all, condition, rest }) {
  await setup();
  if (fabtests && !hasFabtests(fabtests)) throw new SetupError(`no fabtests in ${fabtests}/bin`);
  const stack = folder ? environmentOf(folder) : {};
  const { version, file } = loadedLibfabric(stack);
  if (folder) checkLoaded(folder, { file });
  console.log(`libfabric ${version}, ${file}, Node.js ${process.version}`);
  const programs = () =>
    runFabtests({ folder: fabtests ?? folder, env: stack, version, condition, all });
  if (fabtests) return programs();
  const whole = rest.length === 0 && folder && hasFabtests(folder);
  const env = { ...TESTS, ...CONDITIONS[condition], ...stack };
  const tally = notEmpty(await efaTests(rest, env));
  return whole ? sum(tally, await programs()) : tally;
}

const OWN = 'test/efa/';

/** All tests of test/efa/, and those of other folders with efa in their names, if `rest` names no others. */
async function efaTests(rest, env) {
  const run = (...which) =>
    vitest([...which, ...ONLY_THE_LIBRARY, '--passWithNoTests', ...rest], env);
  if (rest.includes('-t')) return run();
  const files = rest.filter((each) => each.startsWith('test/'));
  const has = (wanted) => files.length === 0 || files.some(wanted);
  const tallies = [];
  if (has((file) => file.startsWith(OWN))) {
    tallies.push(await run(...without('test/!(efa)/**')));
  }
  if (has((file) => !file.startsWith(OWN))) {
    tallies.push(await run(...without(`${OWN}**`), '-t', 'efa'));
  }
  return sum(...tallies);
}

/** A run without a test proves nothing: it fails. */
function notEmpty(tally) {
  if (tally.passed + tally.failed > 0) return tally;
  console.log('failed: no test ran');
  return { ...tally, failed: 1 };
}

/** Runs this suite in the Debian folder of a release. */
async function runInDebian(release, { fabtests, condition, rest }) {
  if (fabtests) throw new Skipped('--fabtests runs on this machine');
  if (release === 'bookworm') {
    throw new Skipped("Debian 12's Node.js is too old; test bookworm on a Debian 12 system");
  }
  await makeDebian(release).catch((error) => {
    throw error instanceof SetupError ? new Skipped(error.message) : error;
  });
  await copyTree(release);
  const test = 'cd /libfabric && exec node scripts/suite.mjs efa "$@"';
  const args = ['sh', '-c', test, 'sh', ...(condition ? [condition] : []), ...rest];
  const [program, ...line] = entering(release, args);
  return tallyOf(program, line, { ...ENVIRONMENT, ...TESTS });
}

export default async function efa(args) {
  const wanted = parseArguments(args);
  const { stack } = wanted;
  if (!stack || stack === releaseOfThisMachine()) return runHere(wanted);
  if (RELEASES.includes(stack)) return runInDebian(stack, wanted);
  return runHere({ folder: stack, ...wanted });
}
