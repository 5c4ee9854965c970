// Runs the tests of one part, first plain and then over the fabric, and reports how they ended.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from './listed.mjs';
import { runTest } from './run-test.mjs';

const PRELOAD = fileURLToPath(new URL('preload/main.cjs', import.meta.url));
const LIMIT = 120_000; // ms for a test. The slowest takes 10 s over TCP, and connects 300 times.
const LISTED_LIMIT = 15_000; // ms for a test that is not expected to pass
const RETRIED = 20; // More failures have other reasons than the load of the machine.
const PLACES = availableParallelism() + 1; // many tests wait for timers

export class Outcomes {
  #tests;
  #part;
  #provider;
  #plainFile;
  #plain; // tests that pass with plain Node.js, from an earlier run too
  #all = new Map(); // name -> 'passed', 'failed', 'listed', 'stale' or 'not applicable'
  #outputs = new Map();
  #reasons;

  constructor(tests, part, provider) {
    this.#tests = tests;
    this.#part = part;
    this.#provider = provider;
    this.#reasons = reasonOf(part);
    this.#plainFile = join(tests.folder, `plain-${process.version}.json`);
    this.#plain = new Set(
      existsSync(this.#plainFile) ? JSON.parse(readFileSync(this.#plainFile, 'utf8')) : [],
    );
  }

  async run(files) {
    await this.#each(PLACES, files, (name, place) => this.#runOne(name, place));
    writeFileSync(this.#plainFile, JSON.stringify([...this.#plain].sort()));
    // Some tests have time limits of their own, which a busy machine exceeds.
    const failed = files.filter((name) => this.#all.get(name) === 'failed');
    if (failed.length > RETRIED) return;
    await this.#each(1, failed, (name, place) => this.#runOver(name, place));
  }

  async #each(places, files, work) {
    const waiting = [...files];
    const next = async (_, place) => {
      for (let name = waiting.shift(); name; name = waiting.shift()) await work(name, place);
    };
    await Promise.all(Array.from({ length: places }, next));
  }

  async #runOne(name, place) {
    if (!this.#plain.has(name)) {
      const { status } = await runTest(this.#tests, name, { place, limit: LIMIT });
      if (status === 'passed') this.#plain.add(name);
      else this.#all.set(name, 'not applicable');
    }
    if (this.#plain.has(name)) await this.#runOver(name, place);
  }

  async #runOver(name, place) {
    const isListed = this.#reasons.has(name);
    const { status, output } = await runTest(this.#tests, name, {
      place,
      limit: isListed ? LISTED_LIMIT : LIMIT,
      preload: PRELOAD,
      env: { NODE_CORE_PART: this.#part, NODE_CORE_PROVIDER: this.#provider },
    });
    const hasPassed = status === 'passed';
    if (isListed) this.#all.set(name, hasPassed ? 'stale' : 'listed');
    else this.#all.set(name, hasPassed ? 'passed' : 'failed');
    this.#outputs.set(name, status === 'late' ? `${output}\nno end within the time limit` : output);
  }

  /** Prints a table. Returns the tally. */
  report(isVerbose) {
    const of = (outcome) =>
      [...this.#all].filter(([, each]) => each === outcome).map(([name]) => name);
    const [passed, failed, listed, stale, foreign] = [
      ...['passed', 'failed', 'listed', 'stale', 'not applicable'],
    ].map(of);
    for (const name of failed) {
      console.log(`failed: ${name}`);
      if (isVerbose) console.log(`${this.#outputs.get(name)}\n`);
    }
    for (const name of stale) console.log(`passed, but listed: ${name}`);
    if (isVerbose)
      for (const name of listed) console.log(`listed: ${name}: ${this.#reasons.get(name)}`);
    const total = passed.length + failed.length + stale.length;
    const share = (((passed.length + stale.length) / Math.max(1, total)) * 100).toFixed(1);
    const columns = [
      `${this.#part} over ${this.#provider}`.padEnd(16),
      `${passed.length + stale.length} of ${total} passed (${share} %)`.padEnd(28),
      `${failed.length} failed`.padEnd(12),
      `${listed.length} listed`.padEnd(12),
      `${foreign.length} not applicable, because they fail or skip over TCP`,
    ];
    console.log(columns.join(''));
    return {
      passed: passed.length + stale.length,
      failed: failed.length,
      skipped: listed.length + foreign.length,
    };
  }
}
