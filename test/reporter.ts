// Counts the tests for the last line of `npm test`, and prints the slowest files, the skipped tests and the
// failed tests. Writes the costs of each file to LIBFABRIC_TEST_TIMES. Also kills a test file that is stuck in native
// code, which no timeout of vitest can interrupt.
import { readFileSync, writeFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';

const EXTRA_TIME = 30_000; // ms that a file may have without any event beyond the time limit of a test
const SLOWEST = 10; // number of files that are printed

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  complete: boolean;
}

export default class TallyReporter implements Reporter {
  #vitest: Vitest | undefined;
  #ended: TestModule[] = [];
  #timer: NodeJS.Timeout | undefined;
  #stuckAfter = 0; // ms; 0 if tests may take any time
  /** The last event of each file that still runs. */
  readonly #current = new Map<string, string>();

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    const { testTimeout } = vitest.config;
    this.#stuckAfter = testTimeout === 0 ? 0 : testTimeout + EXTRA_TIME;
  }

  onTestModuleQueued(module: TestModule): void {
    this.#record(module, 'start');
  }

  onTestCaseReady(test: TestCase): void {
    this.#record(test.module, test.fullName);
  }

  onTestCaseResult(test: TestCase): void {
    this.#record(test.module, `after ${test.fullName}`);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#record(module);
    this.#ended.push(module);
    this.#write(this.#count(this.#ended, 0), false);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    clearTimeout(this.#timer);
    printSlowest(modules);
    const times = process.env.LIBFABRIC_TEST_TIMES;
    if (times) writeFileSync(times, table(modules));
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) this.#explain(test);
      for (const line of failuresOf(module)) console.log(`failed: ${line}`);
    }
    for (const error of errors) console.log(`failed: ${firstLine(error)}`);
    this.#write(this.#count(modules, errors.length), true);
  }

  // A test that the command line's filter excludes does not count as skipped.
  #filteredOut(test: TestCase): boolean {
    return Boolean(this.#vitest?.config.testNamePattern) && skipNote(test) === undefined;
  }

  #explain(test: TestCase): void {
    if (this.#filteredOut(test)) return;
    const note =
      skipNote(test) ?? (hasErrors(test.parent) ? 'its suite failed' : 'no reason given');
    console.log(`skipped: ${test.module.relativeModuleId}: ${test.fullName}: ${note}`);
  }

  #count(modules: readonly TestModule[], otherErrors: number): Omit<Tally, 'complete'> {
    const tally = { passed: 0, failed: otherErrors, skipped: 0 };
    for (const module of modules) {
      if (hasErrors(module)) tally.failed += 1;
      for (const suite of module.children.allSuites()) if (hasErrors(suite)) tally.failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') tally.passed += 1;
        else if (state === 'skipped') tally.skipped += this.#filteredOut(test) ? 0 : 1;
        else tally.failed += 1; // failed, or started and never ended
      }
    }
    return tally;
  }

  #write(tally: Omit<Tally, 'complete'>, complete: boolean): void {
    const file = process.env.LIBFABRIC_TEST_TALLY;
    if (file) writeFileSync(file, JSON.stringify({ ...tally, complete }));
  }

  #record({ relativeModuleId: file }: TestModule, doing?: string): void {
    if (doing === undefined) this.#current.delete(file);
    else this.#current.set(file, doing);
    clearTimeout(this.#timer);
    if (this.#stuckAfter === 0) return;
    this.#timer = setTimeout(() => {
      const where = [...this.#current].map(([file, doing]) => `${file}: ${doing}`).join(', ');
      console.error(`no news for ${this.#stuckAfter / 1000} s at ${where}: killing it`);
      killDescendants(process.pid);
    }, this.#stuckAfter);
  }
}

/** Milliseconds that a file took, including its imports. */
function timeOf(module: TestModule): number {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return collectDuration + setupDuration + duration;
}

function printSlowest(modules: readonly TestModule[]): void {
  if (modules.length <= SLOWEST) return;
  const slowest = [...modules].sort((a, b) => timeOf(b) - timeOf(a)).slice(0, SLOWEST);
  console.log(`the ${SLOWEST} slowest files:`);
  for (const module of slowest) {
    const seconds = (timeOf(module) / 1000).toFixed(1);
    console.log(`${seconds.padStart(7)} s  ${module.relativeModuleId}`);
  }
}

/** A line with the costs of each file, with tabs between the columns. */
function table(modules: readonly TestModule[]): string {
  const lines = [...modules]
    .sort((a, b) => timeOf(b) - timeOf(a))
    .map((module) => {
      const { cpu = 0, childrenCpu = 0, processes = 0 } = module.meta().costs ?? {};
      const tests = [...module.children.allTests()].length;
      const seconds = [timeOf(module) / 1000, cpu, childrenCpu].map((each) => each.toFixed(2));
      return [...seconds, processes, tests, module.relativeModuleId].join('\t');
    });
  return `${['seconds\tcpu\tchildren cpu\tprocesses\ttests\tfile', ...lines].join('\n')}\n`;
}

const firstLine = (error: SerializedError | undefined) => error?.message.split('\n')[0];

function* failuresOf(module: TestModule): Iterable<string> {
  const file = module.relativeModuleId;
  if (hasErrors(module)) yield `${file}: ${firstLine(module.errors()[0])}`;
  for (const suite of module.children.allSuites()) {
    if (hasErrors(suite)) yield `${file}: ${suite.fullName}: ${firstLine(suite.errors()[0])}`;
  }
  for (const test of module.children.allTests('failed')) {
    yield `${file}: ${test.fullName}: ${firstLine(test.result().errors?.[0])}`;
  }
  for (const test of module.children.allTests('pending')) {
    yield `${file}: ${test.fullName}: it never ended`;
  }
}

function hasErrors(task: TestModule | TestSuite): boolean {
  return task.errors().length > 0;
}

function skipNote(test: TestCase): string | undefined {
  const result = test.result();
  return result.state === 'skipped' ? result.note : undefined;
}

// Kills the processes in which vitest runs test files, and the programs that these have started.
function killDescendants(pid: number): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  for (const child of children.split(' ').filter(Boolean).map(Number)) {
    try {
      killDescendants(child);
      process.kill(child, 'SIGKILL');
    } catch {
      // It has exited in the meantime.
    }
  }
}
