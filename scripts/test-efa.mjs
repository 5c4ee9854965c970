// `npm run test:efa -- [--stack bookworm|trixie|forky|DIR] [CONDITION] [vitest's arguments]`: the tests of the
// efa provider with the libfabric of another stack, under another condition, or both. A stack is a release of
// Debian, in a folder made by debootstrap unless this machine is of that release, or a folder that a
// libfabric was installed into. Where there can be no such Debian, the last line counts it as skipped.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';
import { CONDITIONS, parseArguments } from './stack/arguments.mjs';
import { copyTree, ENVIRONMENT, entering, makeDebian } from './stack/debian.mjs';
import { checkLoaded, environmentOf, loadedLibfabric } from './stack/prefix.mjs';
import { ONLY_THE_LIBRARY, prepare, runSuite } from './test.mjs';

const RELEASES = ['bookworm', 'trixie', 'forky'];

const releaseOfThisMachine = () =>
  readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(\w+)$/m)?.[1];

/** Runs the tests on this machine, with the installed libfabric or the one of a folder. */
function runHere({ folder, condition, rest }) {
  const env = prepare(() => {
    setup();
    const variables = { ...CONDITIONS[condition], ...(folder ? environmentOf(folder) : {}) };
    const loaded = loadedLibfabric(variables);
    if (folder) checkLoaded(folder, loaded);
    console.log(`libfabric ${loaded.version}, ${loaded.file}, Node.js ${process.version}`);
    return variables;
  });
  const which = rest.includes('-t') ? [] : ['-t', 'efa'];
  if (env) runSuite([...which, ...ONLY_THE_LIBRARY, ...rest], env);
}

/** Runs this script again in the Debian of a release. */
function runInDebian(release, { condition, rest }) {
  try {
    if (release === 'bookworm') {
      throw new SetupError("Debian 12's Node.js is too old: bookworm is tested on a Debian 12");
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
  process.on('SIGINT', () => {}); // a terminal sends it to the suite as well
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
