// `npm run suite -- matrix [NAME ...]`: runs two processes on every system of systems.mjs, or on those whose name
// contains one of the arguments. Prints a line for each outcome, and at the end `N passed, N failed, N skipped`.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { removeSoftefa } from 'libfabric/softefa';
import { WRONG_USAGE } from '../../scripts/options.mjs';
import { programs, systems } from './systems.mjs';

const HANG = 180_000; // ms: longer than any program takes, also on a busy machine
const program = fileURLToPath(new URL('program.mjs', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const namespace = `matrix-${randomBytes(4).toString('hex')}`;
const tally = { passed: 0, failed: 0, skipped: 0 };

const env = { ...process.env, MATRIX_NAMESPACE: namespace, HOME: '/tmp' };

function outcomeOf({ launcher, node = process.execPath, at = program }, provider, what) {
  const [command, ...args] = [...launcher, node, at, provider, what];
  const { status, signal, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    env,
    encoding: 'utf8',
    timeout: HANG,
    killSignal: 'SIGKILL',
  });
  try {
    return JSON.parse(stdout.trim().split('\n').at(-1));
  } catch {
    return { outcome: signal ?? `exit status ${status}`, message: stderr.slice(-500) };
  }
}

const matches = (outcome, expected) =>
  expected instanceof RegExp ? expected.test(outcome) : outcome === expected;

async function runOn(system) {
  const { name, launcher, expected, prepare, clean } = system;
  try {
    await prepare?.();
    const { status } = spawnSync(launcher[0] ?? 'true', [...launcher.slice(1), 'true']);
    if (launcher.length > 0 && status !== 0)
      throw new Error(`${launcher[0]} is not permitted here`);
  } catch (error) {
    tally.skipped++;
    console.log(`skipped: ${name}: ${error.message}`);
    return;
  }
  for (const [what, wanted] of Object.entries(expected)) {
    const found = outcomeOf(system, ...programs[what]);
    const passed = matches(found.outcome, wanted);
    tally[passed ? 'passed' : 'failed']++;
    const told = found.message ? `: ${found.message}` : ''; // with its hint
    console.log(`${passed ? 'passed' : 'failed'}: ${name}: ${what}: ${found.outcome}${told}`);
    if (!passed) console.log(`  expected: ${wanted}`);
  }
  clean?.();
}

const wanted = process.argv.slice(2);
const all = systems(`${root}build/matrix/without_process_vm`);
const unknown = wanted.find((part) => !all.some(({ name }) => name.includes(part)));
if (unknown !== undefined) {
  const names = all.map(({ name }) => name).join('; ');
  console.error(`there is no system with '${unknown}' in its name; there are: ${names}`);
  process.exit(WRONG_USAGE);
}
const isWanted = ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part));
for (const system of all.filter(isWanted)) await runOn(system);
removeSoftefa({ namespace });
console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`);
process.exitCode = tally.failed > 0 ? 1 : 0;
