// `npm run test:efa -- [--stack bookworm|trixie|forky|DIR] [--fabtests DIR] [--all] [CONDITION] [vitest's
// arguments]`: runs the tests of the efa provider with the libfabric of another stack, under another condition, or
// both. A stack is a release of Debian or the folder of a libfabric installation. If this machine does not run that
// release, debootstrap creates it in a folder. If that is not possible, the last line counts it as skipped. If the
// folder of a libfabric also contains fabtests, its programs run after the whole suite. `--fabtests DIR` runs only
// the programs of that folder, which must be of the same version. `--all` runs all programs.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';
import { CONDITIONS, parseArguments } from './stack/arguments.mjs';
import { copyTree, ENVIRONMENT, entering, makeDebian } from './stack/debian.mjs';
import { hasFabtests, runFabtests } from './stack/fabtests.mjs';
import { checkLoaded, environmentOf, loadedLibfabric } from './stack/prefix.mjs';
import { finish, ONLY_THE_LIBRARY, prepare, runSuite } from './test.mjs';

const RELEASES = ['bookworm', 'trixie', 'forky'];

const releaseOfThisMachine = () =>
  readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(\w+)$/m)?.[1];

/** Runs the tests on this machine, with the installed libfabric or with the one in a folder. */
async function runHere({ folder, fabtests, all, condition, rest }) {
  const found = prepare(() => {
    setup();
    if (fabtests && !hasFabtests(fabtests)) throw new SetupError(`no fabtests in ${fabtests}/bin`);
    const stack = folder ? environmentOf(folder) : {};
    const loaded = loadedLibfabric(stack);
    if (folder) checkLoaded(folder, loaded);
    console.log(`libfabric ${loaded.version}, ${loaded.file}, Node.js ${process.version}`);
    return { stack, version: loaded.version };
  });
  if (!found) return;
  const { stack, version } = found;
  const programs = () =>
    runFabtests({ folder: fabtests ?? folder, env: stack, version, condition, all });
  if (fabtests) return finish(await programs());
  const which = rest.includes('-t') ? [] : ['-t', 'efa'];
  const whole = rest.length === 0 && folder && hasFabtests(folder);
  const env = { ...CONDITIONS[condition], ...stack };
  runSuite([...which, ...ONLY_THE_LIBRARY, ...rest], env, whole ? programs : undefined);
}

/** Runs this script in the Debian folder of a release. */
function runInDebian(release, { fabtests, condition, rest }) {
  try {
    if (fabtests) throw new SetupError('--fabtests runs on this machine');
    if (release === 'bookworm') {
      throw new SetupError("Debian 12's Node.js is too old; test bookworm on a Debian 12 system");
    }
    makeDebian(release);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`skipped: ${error.message}`);
    console.log('0 passed, 0 failed, 1 skipped');
    return;
  }
  if (!prepare(() => copyTree(release))) return;
  const test = 'cd /libfabric && exec node scripts/test-efa.mjs "$@"';
  const args = ['sh', '-c', test, 'sh', ...(condition ? [condition] : []), ...rest];
  const [program, ...line] = entering(release, args);
  const child = spawn(program, line, { stdio: 'inherit', env: ENVIRONMENT });
  process.on('SIGINT', () => {}); // a terminal also sends it to the suite
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

const wanted = prepare(() => parseArguments(process.argv.slice(2)));
if (wanted) {
  const { stack } = wanted;
  if (!stack || stack === releaseOfThisMachine()) runHere(wanted);
  else if (RELEASES.includes(stack)) runInDebian(stack, wanted);
  else runHere({ folder: stack, ...wanted });
}
