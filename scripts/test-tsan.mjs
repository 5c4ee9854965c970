// `npm run test:tsan [-- --rounds N] [PART]`: runs the engine with each driver, and transfers, in several threads at a
// time, with clang's ThreadSanitizer and without Node.js (test/tsan/). PART of a name selects programs. Prints
// `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeHeaders, sanitizers } from './setup/clang.mjs';
import { npmPackages } from './setup/npm.mjs';
import { announce, root, run, SetupError } from './setup/step.mjs';
import { systemPackages } from './setup/system.mjs';
import { finish } from './test.mjs';

const LIBUV = {
  name: 'libuv',
  present: () => spawnSync('sh', ['-c', 'ldconfig -p | grep -q libuv.so.1']).status === 0,
  apt: ['libuv1'],
  dnf: ['libuv'],
};
const ENVIRONMENT = {
  // psm, which libfabric loads, would allocate memory in a signal handler when the process is ended.
  IPATH_NO_BACKTRACE: '1',
  HFI_NO_BACKTRACE: '1',
  FI_EFA_ENABLE_SHM_TRANSFER: '0', // uses the device also within a process
  SOFTEFA_NAMESPACE: `tsan-${process.pid}`,
  SOFTEFA_MEMLOCK: 'unlimited',
};
const OPTIONS = 'history_size=7 atexit_sleep_ms=0';
/**
 * The programs are two processes, with the tool's options for each. libfabric is not built with ThreadSanitizer, so its
 * own atomics and spin locks are not seen: what it copies between threads under them looks like a race. Nothing that it
 * calls is looked at. For efa this would hide the locks under which it calls the device, so there only the accesses of
 * functions such as memcpy(3) are not looked at, in the addon and the device as well.
 */
const PROCESSES = {
  others: `suppressions=test/tsan/suppressions ${OPTIONS}`,
  efa: `ignore_interceptors_accesses=1 ${OPTIONS}`,
};

function build() {
  npmPackages();
  sanitizers('thread');
  systemPackages([LIBUV]);
  announce('building the engine with ThreadSanitizer');
  const jobs = `-j${Math.min(availableParallelism(), 8)}`;
  run('make', ['-s', jobs, '-f', 'test/tsan/Makefile', `NODE_HEADERS=${nodeHeaders()}`], {
    what: 'make',
  });
}

/** Runs the programs of a process. Returns how many passed and how many failed: a report fails the process. */
function runProcess(name, rounds, [part = '']) {
  const program = [join(root, 'build/tsan/engine'), rounds, name, part];
  // The tool's map of the memory has no place for some addresses that a kernel chooses at random. A
  // container may forbid to choose others.
  const fixed = spawnSync('setarch', ['-R', 'true']).status === 0 ? ['setarch', '-R'] : [];
  const [command, ...args] = [...fixed, ...program];
  const { status, signal, stdout } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...ENVIRONMENT, TSAN_OPTIONS: PROCESSES[name] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.stdout.write(stdout);
  if (status !== 0) console.log(`failed: ${signal ?? `exit status ${status}`}`);
  const passed = stdout.match(/^passed: /gm)?.length ?? 0;
  return { passed, failed: status === 0 ? 0 : 1 };
}

function runAll(rounds, names) {
  const sum = { passed: 0, failed: 0 };
  for (const process of Object.keys(PROCESSES)) {
    const { passed, failed } = runProcess(process, rounds, names);
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
  build();
  finish(runAll(values.rounds, positionals));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  finish({ passed: 0, failed: 1 });
}
