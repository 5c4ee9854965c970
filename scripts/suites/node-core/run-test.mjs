// Runs one test of Node.js in a process, plain or with a preloaded module.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const OUTPUT = 6000; // characters that are kept from the end of the output
const FIRST_PORT = 12_346; // common.PORT, for tests that are not meant to run in parallel
const PORTS = 100; // of each place

/** The options of node(1) that a test names in its comment. */
function flagsOf(file) {
  const [, flags] = readFileSync(file, 'utf8').match(/^\/\/ Flags: (.*)$/m) ?? [];
  return flags?.trim().split(/\s+/) ?? [];
}

// A test may leave children.
function killGroup(leader) {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {} // nobody is left
}

/**
 * Runs a test and waits for its end.
 *
 * @param place tests with different places may run at the same time.
 * @param limit milliseconds.
 * @param env variables for the preloaded module.
 * @returns `{ status, output }`: status is 'passed', 'skipped' (by the test itself), 'late' or 'failed'.
 */
export async function runTest(tests, name, { place, limit, preload, env = {} }) {
  const file = join(tests.source, 'test/parallel', name);
  const temporary = join(tests.folder, 'temporary');
  mkdirSync(temporary, { recursive: true });
  const child = spawn(process.execPath, [...flagsOf(file), file], {
    cwd: tests.source,
    detached: true, // in a process group of its own
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_TEST_DIR: temporary,
      TEST_THREAD_ID: String(place),
      NODE_COMMON_PORT: String(FIRST_PORT + place * PORTS),
      ...(preload && { NODE_OPTIONS: `--require ${preload}` }),
      ...env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output = (output + text).slice(-OUTPUT);
    });
  }
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(child.pid);
  }, limit);
  const closed = once(child, 'close');
  const [status] = await once(child, 'exit');
  clearTimeout(timer);
  killGroup(child.pid);
  await closed;
  if (isLate) return { status: 'late', output };
  if (status !== 0) return { status: 'failed', output };
  return { status: /^1\.\.0 # Skipped/m.test(output) ? 'skipped' : 'passed', output };
}
