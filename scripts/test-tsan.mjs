// `npm run test:tsan [-- --rounds N] [PART]`: runs the engine with each driver, and transfers, in several threads at a
// time, with clang's ThreadSanitizer and without Node.js (test/without-node/). PART of a name selects programs. Prints
// `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { npmPackages } from './setup/npm.mjs';
import { root, SetupError } from './setup/step.mjs';
import { buildEngine, ENGINE_ENVIRONMENT } from './setup/without-node.mjs';
import { finish } from './test.mjs';

const OPTIONS = 'history_size=7 atexit_sleep_ms=0';
/**
 * The programs are two processes, with the tool's options for each. libfabric is not built with ThreadSanitizer, so its
 * own atomics and spin locks are not seen: what it copies between threads under them looks like a race. Nothing that it
 * calls is looked at. For efa this would hide the locks under which it calls the device, so there only the accesses of
 * functions such as memcpy(3) are not looked at, in the addon and the device as well.
 */
const PROCESSES = {
  others: `suppressions=test/without-node/suppressions ${OPTIONS}`,
  efa: `ignore_interceptors_accesses=1 ${OPTIONS}`,
};

/** Runs the programs of a process. Returns how many passed and how many failed: a report fails the process. */
function runProcess(engine, name, rounds, [part = '']) {
  const program = [engine, rounds, name, part];
  // The tool's map of the memory has no place for some addresses that a kernel chooses at random. A
  // container may forbid to choose others.
  const fixed = spawnSync('setarch', ['-R', 'true']).status === 0 ? ['setarch', '-R'] : [];
  const [command, ...args] = [...fixed, ...program];
  const { status, signal, stdout } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...ENGINE_ENVIRONMENT, TSAN_OPTIONS: PROCESSES[name] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.stdout.write(stdout);
  if (status !== 0) console.log(`failed: ${signal ?? `exit status ${status}`}`);
  const passed = stdout.match(/^passed: /gm)?.length ?? 0;
  return { passed, failed: status === 0 ? 0 : 1 };
}

function runAll(engine, rounds, names) {
  const sum = { passed: 0, failed: 0 };
  for (const process of Object.keys(PROCESSES)) {
    const { passed, failed } = runProcess(engine, process, rounds, names);
    sum.passed += passed;
    sum.failed += failed;
  }
  return sum.passed > 0 ? sum : { passed: 0, failed: 1 };
}

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '40' } },
  allowPositionals: true,
});

try {
  npmPackages();
  finish(runAll(buildEngine('thread'), values.rounds, positionals));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  finish({ passed: 0, failed: 1 });
}
