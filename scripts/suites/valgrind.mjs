// `npm run suite -- valgrind`: runs the C++ tests of softefa and of the engine, and the engine without Node.js
// (test/without-node/), under valgrind's memcheck: no invalid access, no use of undefined bytes, no
// leak.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { npmPackages } from '../setup/npm.mjs';
import { announce, root, run } from '../setup/step.mjs';
import { onPath, systemPackages } from '../setup/system.mjs';
import { buildEngine, ENGINE_ENVIRONMENT } from '../setup/without-node.mjs';
import { sum } from '../tally.mjs';

const VALGRIND = {
  name: 'valgrind',
  present: () => onPath('valgrind'),
  apt: ['valgrind'],
  dnf: ['valgrind'],
};
const MEMCHECK = [
  'valgrind',
  '--quiet',
  '--trace-children=yes',
  '--fair-sched=try', // a thread that polls would keep the others from running
  '--num-callers=25',
  '--leak-check=full',
  '--show-leak-kinds=definite,indirect',
  '--errors-for-leak-kinds=definite,indirect',
  `--suppressions=${join(root, 'test/without-node/memcheck.supp')}`,
  '--error-exitcode=9',
];
/** Hundreds of processes at a time, which end by a time limit under valgrind. */
const TOO_SLOW = /^(containment_of_200|storm_of_50)/;
const ROUNDS = '10';
/** A line of a test, or of a program of the engine, that passed. */
const PASSED = /^(ok {3}|passed: )/gm;

/** Runs a program. Returns how many tests of it passed, and 1 failure if it fails. */
function check(program, env = {}) {
  const [command, ...args] = [...MEMCHECK, ...program];
  const { status, signal, stdout } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.stdout.write(stdout.replace(/^ok {3}.*\n/gm, ''));
  const passed = stdout.match(PASSED)?.length ?? 0;
  if (status === 0 && passed > 0) return { passed, failed: 0 };
  console.log(`failed: ${program.join(' ').slice(0, 200)}: ${signal ?? `exit status ${status}`}`);
  return { passed, failed: 1 };
}

/** Builds the C++ tests of softefa or the engine. Returns the program. */
async function buildTests(suite) {
  await run('make', ['-s', '-j2', '-f', `test/${suite}/Makefile`, 'VARIANT=plain'], {
    what: 'make',
  });
  return join(root, `build/${suite}-tests/plain/tests`);
}

async function* checks() {
  yield check([await buildTests('engine')]);
  const softefa = await buildTests('softefa');
  const { stdout } = spawnSync(softefa, ['--list'], { encoding: 'utf8' });
  const names = stdout.trimEnd().split('\n');
  const chosen = names.filter((name) => !TOO_SLOW.test(name));
  for (const SOFTEFA_ASYNC of ['0', '1']) yield check([softefa, ...chosen], { SOFTEFA_ASYNC });
  const engine = await buildEngine();
  for (const part of ['efa', 'others']) yield check([engine, ROUNDS, part], ENGINE_ENVIRONMENT);
}

export default async function valgrind() {
  await npmPackages();
  await systemPackages([VALGRIND]);
  announce('building and checking with valgrind');
  const tallies = [];
  for await (const tally of checks()) tallies.push(tally);
  return sum(...tallies);
}
