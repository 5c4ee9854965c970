// `npm run suite -- engine [--rounds N] [--sanitizer NAME] [PART]`: runs the engine with each driver, and transfers, in
// several threads at a time and without Node.js (test/without-node/), with clang's ThreadSanitizer, and with its
// AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer, or with one of the two (thread, address). PART of a
// name selects programs.
import { spawnSync } from 'node:child_process';
import { count, oneOf, readOptions } from '../options.mjs';
import { npmPackages } from '../setup/npm.mjs';
import { root, SetupError } from '../setup/step.mjs';
import { buildEngine, ENGINE_ENVIRONMENT } from '../setup/without-node.mjs';

const suppressed = (name) => `suppressions=test/without-node/${name}.supp`;
// libuv closes descriptors without the function that the sanitizer watches. If another thread gets the number of one,
// its use would look like a race; so accesses in functions that other libraries call are not checked.
const TSAN = 'history_size=7 atexit_sleep_ms=0 ignore_noninstrumented_modules=1';
const ADDRESS = {
  ASAN_OPTIONS: 'detect_leaks=1',
  LSAN_OPTIONS: `${suppressed('leak')}:print_suppressions=0`,
  UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
};
/**
 * The programs are two processes, with the options of the sanitizer for each. libfabric is not built with
 * ThreadSanitizer, so its own atomics and spin locks are not seen: what it copies between threads under them looks like
 * a race. So accesses in its calls are not checked. For efa this would hide the locks under which it calls the device.
 * So for efa only the accesses of functions such as memcpy(3) are not checked, in the addon and the device as well.
 */
const SANITIZERS = {
  thread: {
    others: { TSAN_OPTIONS: `${suppressed('thread')} ${TSAN}` },
    efa: { TSAN_OPTIONS: `ignore_interceptors_accesses=1 ${TSAN}` },
  },
  address: { others: ADDRESS, efa: ADDRESS },
};

/** Runs the programs of a process. Returns how many passed and how many failed: a report fails the process. */
function runProcess(program, env) {
  // The sanitizer's memory map has no room for some addresses that a kernel chooses at random. A
  // container may forbid choosing others.
  const fixed = spawnSync('setarch', ['-R', 'true']).status === 0 ? ['setarch', '-R'] : [];
  const [command, ...args] = [...fixed, ...program];
  const { status, signal, stdout } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...ENGINE_ENVIRONMENT, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.stdout.write(stdout);
  if (status !== 0) console.log(`failed: ${signal ?? `exit status ${status}`}`);
  const passed = stdout.match(/^passed: /gm)?.length ?? 0;
  return { passed, failed: status === 0 ? 0 : 1 };
}

async function runAll(sanitizers, rounds, [part = '']) {
  const sum = { passed: 0, failed: 0 };
  for (const sanitizer of sanitizers) {
    const engine = await buildEngine(sanitizer);
    for (const [name, env] of Object.entries(SANITIZERS[sanitizer])) {
      const { passed, failed } = runProcess([engine, rounds, name, part], env);
      sum.passed += passed;
      sum.failed += failed;
    }
  }
  if (sum.passed + sum.failed === 0) throw new SetupError(`no program has ${part} in its name`);
  return sum;
}

export default async function engine(args) {
  const names = Object.keys(SANITIZERS);
  const options = {
    rounds: { value: 'N', read: count(1), default: 40 },
    sanitizer: { value: 'NAME', read: oneOf(names), multiple: true, default: names },
  };
  const { values, positionals } = readOptions(options, args, true);
  await npmPackages();
  return runAll(values.sanitizer, String(values.rounds), positionals);
}
