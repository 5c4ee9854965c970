// `npm run suite -- fuzz [--seconds N] [--runs N] [--seed N] [NAME ...]`: builds the fuzzers of test/fuzz/ with clang and runs
// them, or those that are named, for N seconds in all (60 by default), or each for N executions. `decoders` are those in
// JavaScript, whose properties fast-check tests. Prints a line for each. The inputs that a fuzzer
// finds are kept in build/fuzz/corpus; a failed one leaves the bytes that it failed with in build/fuzz and prints how
// to run them again.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { amount, count, readOptions } from '../options.mjs';
import { nodeHeaders, sanitizers } from '../setup/clang.mjs';
import { npmPackages } from '../setup/npm.mjs';
import { announce, root, run, SetupError } from '../setup/step.mjs';
import { typescript } from '../setup/typescript.mjs';
import { vendored } from '../setup/vendor.mjs';

const SECONDS = 60;
// Executions take microseconds. A slow one, on a busy machine, is no failure.
const LIMIT_SECONDS = 60;
const MEGABYTES = 2048;
// An execution frees less memory than that, and takes a third less time than with the defaults.
const ASAN_OPTIONS = 'quarantine_size_mb=8:malloc_context_size=8';

// Executions of the device create files. In memory they take a quarter less time than on a disk.
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const out = join(root, 'build/fuzz');

/** The decoders in JavaScript, as a name beside those of the fuzzers, and the tests of their properties. */
const DECODERS = 'decoders';
const PROPERTIES = [
  'test/cli/cli-decoders.unit.test.ts',
  'test/memory-region/memory-region-decoders.unit.test.ts',
  'test/transfer/transfer-decoders.unit.test.ts',
];

async function build(names) {
  announce('building the fuzzers');
  const targets = names.map((name) => `build/fuzz/${name}`);
  const args = ['-s', '-j2', '-f', 'test/fuzz/Makefile', `NODE_HEADERS=${nodeHeaders()}`];
  await run('make', [...args, ...targets], { what: 'make' });
}

/** Checks the properties of the decoders in JavaScript. Returns whether they hold. */
function fuzzProperties({ seconds, runs, seed }) {
  const texts = PROPERTIES.map((file) => readFileSync(join(root, file), 'utf8'));
  const each = String(seconds / texts.join().match(/^\s*holds\(/gm).length);
  const limit = runs ? { LIBFABRIC_FUZZ_RUNS: runs } : { LIBFABRIC_FUZZ_SECONDS: each };
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = ['run', ...PROPERTIES, '--maxWorkers=1', '--testTimeout=0'];
  const { status, stdout } = spawnSync(process.execPath, [vitest, ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...limit, LIBFABRIC_TEST_SEED: seed ?? String(Date.now() % 2 ** 31) },
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const counts = [...stdout.matchAll(/(\d+) runs$/gm)].map(([, count]) => Number(count));
  const passed = status === 0 && counts.length > 0;
  if (!passed) console.log(`${stdout}\nfailed: ${DECODERS}`);
  else {
    const sum = counts.reduce((a, b) => a + b, 0).toLocaleString('en');
    const least = Math.min(...counts).toLocaleString('en');
    console.log(
      `${DECODERS}: ${sum} executions of ${counts.length} properties, each at least ${least}`,
    );
  }
  return passed;
}

/** Runs a fuzzer in JavaScript, with the same limits. Returns whether it found nothing. */
function fuzzInNode(name, { seconds, runs, seed }) {
  const limit = runs ? ['--runs', runs] : ['--seconds', seconds];
  const args = [
    join(root, `test/fuzz/${name}.mjs`),
    ...limit,
    '--seed',
    seed ?? Date.now() % 2 ** 31,
  ];
  const { status } = spawnSync(process.execPath, args.map(String), { cwd: root, stdio: 'inherit' });
  if (status !== 0) console.log(`failed: ${name}`);
  return status === 0;
}

/** Runs a fuzzer. Returns whether it found nothing. */
function fuzz(name, limits) {
  const learned = join(out, 'corpus', name);
  mkdirSync(learned, { recursive: true });
  const kept = join(root, 'test/fuzz/corpus', name);
  const options = [
    ...limits,
    `-timeout=${LIMIT_SECONDS}`,
    `-rss_limit_mb=${MEGABYTES}`,
    `-artifact_prefix=${out}/${name}-`,
    '-print_final_stats=1',
  ];
  const folders = [learned, ...(existsSync(kept) ? [kept] : [])];
  const shared = mkdtempSync(join(MEMORY, 'libfabric-fuzz-'));
  const { status, signal, stderr } = spawnSync(join(out, name), [...options, ...folders], {
    cwd: root,
    encoding: 'utf8',
    // psm, which libfabric loads, would print a stack of its own instead of the sanitizer's.
    env: {
      ...process.env,
      IPATH_NO_BACKTRACE: '1',
      HFI_NO_BACKTRACE: '1',
      ASAN_OPTIONS,
      SOFTEFA_DIRECTORY: shared,
    },
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  rmSync(shared, { recursive: true });
  const stat = (key) => Number(stderr.match(new RegExp(`stat::${key}: *(\\d+)`))?.[1] ?? 0);
  if (status === 0) {
    const count = stat('number_of_executed_units').toLocaleString('en');
    const speed = stat('average_exec_per_sec').toLocaleString('en');
    const covered = stderr.match(/.*cov: (\d+)/s)?.[1];
    console.log(`${name}: ${count} executions, ${speed} per second, ${covered} edges covered`);
    return true;
  }
  const file = stderr.match(/Test unit written to (\S+)/)?.[1];
  const report = stderr.split('\n').filter((line) => !/^(#|INFO|stat::|"|$)/.test(line));
  console.log(report.slice(-60).join('\n'));
  if (file) console.log(`again: ${join(out, name)} ${file}`);
  console.log(`failed: ${name}: ${signal ?? `exit status ${status}`}`);
  return false;
}

export default async function fuzzAll(args) {
  const options = {
    seconds: { value: 'N', read: amount, default: SECONDS },
    runs: { value: 'N', read: count(1) },
    seed: { value: 'N', read: count(1) },
  };
  const { values, positionals } = readOptions(options, args, true);
  const named = (end) =>
    readdirSync(join(root, 'test/fuzz')).flatMap((file) =>
      file.endsWith(end) ? [file.slice(0, -end.length)] : [],
    );
  const inNode = named('.mjs');
  const all = [...named('.cc'), ...inNode, DECODERS].sort();
  const unknown = positionals.find((name) => !all.includes(name));
  if (unknown) throw new SetupError(`there is no fuzzer ${unknown}, only ${all.join(', ')}`);
  const names = positionals.length > 0 ? positionals : all;
  const built = names.filter((name) => name !== DECODERS && !inNode.includes(name));
  await npmPackages();
  if (built.length < names.length) {
    await typescript();
    await vendored();
  }
  if (built.length > 0) {
    await sanitizers('fuzzer,address,undefined');
    await build(built);
  }
  const seconds = Math.max(1, Math.ceil(values.seconds / names.length));
  const limits = [values.runs ? `-runs=${values.runs}` : `-max_total_time=${seconds}`];
  if (values.seed) limits.push(`-seed=${values.seed}`);
  const passes = (name) => {
    if (name === DECODERS) return fuzzProperties({ ...values, seconds });
    return inNode.includes(name) ? fuzzInNode(name, { ...values, seconds }) : fuzz(name, limits);
  };
  const passed = names.filter(passes).length;
  return { passed, failed: names.length - passed };
}
