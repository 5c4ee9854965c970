// Builds and runs the C++ tests of test/softefa/ and test/engine/.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The subject of the tests: the software device, or the parts of the engine. */
export type Suite = 'softefa' | 'engine';
/** The build: plain, with AddressSanitizer and UBSan, or with ThreadSanitizer. */
export type Variant = 'plain' | 'asan' | 'tsan';
/** The mode of the device: the post call executes a work request (synchronous), or a thread does (asynchronous). */
export type Mode = 'synchronous' | 'asynchronous';

/** Whether a command succeeded, and its output. */
export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

/** Time limit of one test. It is below the time after which test/reporter.ts ends a silent file. */
export const LIMIT_MS = 160_000;
/** Time limit of a build, also on a busy machine. */
export const BUILD_LIMIT_MS = 600_000;

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the tests where they are older than their sources. */
export async function build(variant: Variant, suite: Suite = 'softefa'): Promise<void> {
  const { ok, output } = await make(suite, variant);
  if (!ok) throw new Error(`the tests of ${suite} do not build (${variant}):\n${output}`);
}

/** Returns the reason if this variant cannot be built or run here. */
export async function unavailable(
  variant: Variant,
  suite: Suite = 'softefa',
): Promise<string | undefined> {
  const { ok, output } = await make(suite, variant, 'probe');
  return ok ? undefined : `no ${variant} with this compiler or machine: ${output.split('\n')[0]}`;
}

/** Returns the names of all tests. */
export async function testNames(suite: Suite = 'softefa'): Promise<string[]> {
  const { output } = await run(program(suite, 'plain'), ['--list']);
  return output.trimEnd().split('\n');
}

/** The outcomes of the tests of a program, as it prints them. */
class Outcomes {
  readonly #ended = new Map<string, Outcome>();
  readonly #awaited = new Map<string, (outcome: Outcome) => void>();
  #unread = ''; // the start of a line
  #before = ''; // the lines before the verdict
  #isOver = false;

  read(text: string): void {
    const lines = (this.#unread + text).split('\n');
    this.#unread = lines.pop() as string;
    for (const line of lines) this.#readLine(line);
  }

  #readLine(line: string): void {
    const [, verdict, name] = line.match(/^(ok {3}|FAIL )(\w+)/) ?? [];
    if (name === undefined) {
      this.#before += `${line}\n`;
      return;
    }
    const outcome = { ok: verdict === 'ok   ', output: `${this.#before}${line}` };
    this.#before = '';
    this.#ended.set(name, outcome);
    this.#awaited.get(name)?.(outcome);
  }

  /** The program has ended. */
  end(): void {
    this.#isOver = true;
    for (const [name, resolve] of this.#awaited) resolve(this.#ended.get(name) ?? this.#missing());
  }

  #missing(): Outcome {
    return { ok: false, output: `${this.#before}${this.#unread}\nthe test did not end` };
  }

  /** Resolves when the test has ended. */
  of(name: string): Promise<Outcome> {
    const outcome = this.#ended.get(name) ?? (this.#isOver ? this.#missing() : undefined);
    if (outcome !== undefined) return Promise.resolve(outcome);
    return new Promise((resolve) => {
      this.#awaited.set(name, resolve);
    });
  }
}

/** Starts all tests, one after another, each in a process of its own. Returns their outcomes. */
export function startAllTests(variant: Variant, mode: Mode, suite: Suite = 'softefa'): Outcomes {
  const outcomes = new Outcomes();
  const read = (text: string) => outcomes.read(text);
  const over =
    suite === 'softefa' ? runTests(variant, mode, [], [], read) : runUnitTests(variant, [], read);
  const end = () => outcomes.end();
  over.then(end, end);
  return outcomes;
}

/** Runs the named tests, or all, each in a process of its own. `launcher` is a command that runs them. */
export function runTests(
  variant: Variant,
  mode: Mode,
  names: readonly string[] = [],
  launcher: readonly string[] = [],
  read?: (text: string) => void,
): Promise<Outcome> {
  const [command, ...args] = [...launcher, program('softefa', variant), ...names] as [
    string,
    ...string[],
  ];
  const variables = {
    SOFTEFA_ASYNC: mode === 'asynchronous' ? '1' : '0',
    // By default each process sleeps for a second before it exits.
    TSAN_OPTIONS: 'atexit_sleep_ms=0',
  };
  return run(command, args, { variables, ...(read && { read }) });
}

/** Runs the named engine tests, or all. They need no device. */
export const runUnitTests = (
  variant: Variant,
  names: readonly string[] = [],
  read?: (text: string) => void,
): Promise<Outcome> => run(program('engine', variant), [...names], read && { read });

/** A command that runs another one without permission for process_vm_readv(2). */
export const withoutProcessVm = `${root}build/softefa-tests/plain/without_process_vm`;

const program = (suite: Suite, variant: Variant) => `${root}build/${suite}-tests/${variant}/tests`;

// Only one make runs in a folder: test files that run in parallel build the same tests.
async function make(suite: Suite, variant: Variant, ...targets: string[]): Promise<Outcome> {
  const folder = `${root}build/${suite}-tests/${variant}`;
  mkdirSync(folder, { recursive: true });
  const args = ['-s', '-j2', '-f', `test/${suite}/Makefile`, `VARIANT=${variant}`, ...targets];
  return run('flock', [folder, 'make', ...args], { limit: BUILD_LIMIT_MS });
}

// Variables that configure the device, or that instrument programs that are instrumented already.
const FOREIGN = /^(SOFTEFA_.*|LD_PRELOAD|[A-Z]+SAN_OPTIONS|MAKEFLAGS)$/;

interface RunOptions {
  readonly variables?: NodeJS.ProcessEnv;
  /** Milliseconds without output after which the command is killed. */
  readonly limit?: number;
  /** Called with the output, as it arrives. */
  readonly read?: (text: string) => void;
}

function run(
  command: string,
  args: string[],
  { variables = {}, limit = LIMIT_MS, read }: RunOptions = {},
): Promise<Outcome> {
  const inherited = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...Object.fromEntries(inherited), ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const timer = setTimeout(() => child.kill(), limit);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        timer.refresh();
        read?.(text);
      });
    }
    child.on('error', reject);
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      resolve({ ok: status === 0, output: signal ? `${output}killed by ${signal}\n` : output });
    });
  });
}
