// Builds C++ and its tests, which are in test/softefa/ and test/engine/, and runs them.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What is tested: the software device, or what the engine is made of. */
export type Suite = 'softefa' | 'engine';
/** How they are built: as they are, under AddressSanitizer with UBSan, or under ThreadSanitizer. */
export type Variant = 'plain' | 'asan' | 'tsan';
/** Whether a work request is executed while it is posted or by a thread of the device. */
export type Mode = 'synchronous' | 'asynchronous';

/** Whether a command succeeded, and all that it printed. */
export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

/** The longest that tests may take that are run at once; below the time that the suite may be silent for. */
export const LIMIT_MS = 160_000;
/** The longest that compiling may take, on a machine that does other things as well. */
export const BUILD_LIMIT_MS = 600_000;

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the tests, of which only what is older than its sources. */
export async function build(variant: Variant, suite: Suite = 'softefa'): Promise<void> {
  const { ok, output } = await make(suite, variant);
  if (!ok) throw new Error(`the tests of ${suite} do not build (${variant}):\n${output}`);
}

/** Why there can be no such variant here, if so. */
export async function unavailable(
  variant: Variant,
  suite: Suite = 'softefa',
): Promise<string | undefined> {
  const { ok, output } = await make(suite, variant, 'probe');
  return ok ? undefined : `no ${variant} with this compiler or machine: ${output.split('\n')[0]}`;
}

/** The names of all tests. */
export async function testNames(suite: Suite = 'softefa'): Promise<string[]> {
  const { output } = await run(program(suite, 'plain'), ['--list']);
  return output.trimEnd().split('\n');
}

/** Runs the tests of these names, or all, each in a process of its own. A command may run them. */
export function runTests(
  variant: Variant,
  mode: Mode,
  names: readonly string[] = [],
  launcher: readonly string[] = [],
): Promise<Outcome> {
  const [command, ...args] = [...launcher, program('softefa', variant), ...names] as [
    string,
    ...string[],
  ];
  return run(command, args, {
    SOFTEFA_ASYNC: mode === 'asynchronous' ? '1' : '0',
    // By default each process sleeps for a second before it exits.
    TSAN_OPTIONS: 'atexit_sleep_ms=0',
  });
}

/** Runs tests that need no device: those of these names, or all. */
export const runUnitTests = (variant: Variant, names: readonly string[] = []): Promise<Outcome> =>
  run(program('engine', variant), [...names]);

/** A command that runs another, which may then not call process_vm_readv(2). */
export const withoutProcessVm = `${root}build/softefa-tests/plain/without_process_vm`;

const program = (suite: Suite, variant: Variant) => `${root}build/${suite}-tests/${variant}/tests`;

// One at a time in a folder: files of tests that run in parallel ask for the same.
async function make(suite: Suite, variant: Variant, ...targets: string[]): Promise<Outcome> {
  const folder = `${root}build/${suite}-tests/${variant}`;
  mkdirSync(folder, { recursive: true });
  const args = ['-s', '-j2', '-f', `test/${suite}/Makefile`, `VARIANT=${variant}`, ...targets];
  return run('flock', [folder, 'make', ...args], {}, BUILD_LIMIT_MS);
}

// What would steer the device, or instrument programs that are instrumented already.
const FOREIGN = /^(SOFTEFA_.*|LD_PRELOAD|[A-Z]+SAN_OPTIONS|MAKEFLAGS)$/;

function run(
  command: string,
  args: string[],
  variables: NodeJS.ProcessEnv = {},
  limit = LIMIT_MS,
): Promise<Outcome> {
  const inherited = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...Object.fromEntries(inherited), ...variables },
      timeout: limit,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', (status, signal) => {
      resolve({ ok: status === 0, output: signal ? `${output}killed by ${signal}\n` : output });
    });
  });
}
