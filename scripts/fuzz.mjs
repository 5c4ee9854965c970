// `npm run fuzz [-- --seconds N] [--runs N] [--seed N] [NAME ...]`: builds the fuzzers of test/fuzz/ with clang and runs
// them, or those that are named, for N seconds in all (60 by default), or each for N executions. Prints a line for each
// and at the end `N passed, N failed`. What a fuzzer learns is kept in build/fuzz/corpus; a failed one leaves the bytes
// that it failed with in build/fuzz and prints how to run them again.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeHeadersPrefix } from './setup/native.mjs';
import { npmPackages } from './setup/npm.mjs';
import { announce, root, run, SetupError } from './setup/step.mjs';
import { onPath, systemPackages } from './setup/system.mjs';
import { finish } from './test.mjs';

const SECONDS = 60;
// Executions take microseconds. A slow one, on a busy machine, is no failure.
const LIMIT_SECONDS = 60;
const MEGABYTES = 2048;

const CLANG = { name: 'clang', present: () => onPath('clang++'), apt: ['clang'], dnf: ['clang'] };
const MAKE = { name: 'make', present: () => onPath('make'), apt: ['make'], dnf: ['make'] };

const out = join(root, 'build/fuzz');

/** Whether clang has libFuzzer and the sanitizers. */
function compiles() {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-fuzz-'));
  try {
    const source = join(folder, 'probe.cc');
    writeFileSync(source, 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }');
    const args = ['-fsanitize=fuzzer,address,undefined', source, '-o', join(folder, 'probe')];
    return spawnSync('clang++', args).status === 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function compiler() {
  systemPackages([CLANG, MAKE]);
  const { stdout } = spawnSync('clang++', ['--version'], { encoding: 'utf8' });
  const major = stdout.match(/version (\d+)/)?.[1];
  systemPackages([
    {
      name: 'the runtime libraries of clang',
      present: compiles,
      apt: [`libclang-rt-${major}-dev`],
      dnf: ['compiler-rt'],
    },
  ]);
}

/** The folder of Node's headers: those of this Node, or those that the addon was built with. */
function nodeHeaders() {
  const prefix = nodeHeadersPrefix();
  if (prefix) return join(prefix, 'include/node');
  const cached = join(process.env.HOME ?? '', '.cache/node-gyp', process.versions.node);
  if (existsSync(cached)) return join(cached, 'include/node');
  throw new SetupError('Node has no headers installed; build the addon first: npm run build');
}

function build(names) {
  announce('building the fuzzers');
  const targets = names.map((name) => `build/fuzz/${name}`);
  const args = ['-s', '-j2', '-f', 'test/fuzz/Makefile', `NODE_HEADERS=${nodeHeaders()}`];
  run('make', [...args, ...targets], { what: 'make' });
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
  const shared = mkdtempSync(join(tmpdir(), 'libfabric-fuzz-'));
  const { status, signal, stderr } = spawnSync(join(out, name), [...options, ...folders], {
    cwd: root,
    encoding: 'utf8',
    // psm, which libfabric loads, would print a stack of its own instead of the sanitizer's.
    env: {
      ...process.env,
      IPATH_NO_BACKTRACE: '1',
      HFI_NO_BACKTRACE: '1',
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

const { values, positionals } = parseArgs({
  options: {
    seconds: { type: 'string' },
    runs: { type: 'string' },
    seed: { type: 'string' },
  },
  allowPositionals: true,
});

try {
  const sources = readdirSync(join(root, 'test/fuzz')).filter((file) => file.endsWith('.cc'));
  const all = sources.map((file) => file.slice(0, -'.cc'.length)).sort();
  const unknown = positionals.find((name) => !all.includes(name));
  if (unknown) throw new SetupError(`there is no fuzzer ${unknown}, only ${all.join(', ')}`);
  const names = positionals.length > 0 ? positionals : all;
  npmPackages();
  compiler();
  build(names);
  const seconds = Math.max(1, Math.ceil(Number(values.seconds ?? SECONDS) / names.length));
  const limits = [values.runs ? `-runs=${values.runs}` : `-max_total_time=${seconds}`];
  if (values.seed) limits.push(`-seed=${values.seed}`);
  const passed = names.filter((name) => fuzz(name, limits)).length;
  finish({ passed, failed: names.length - passed });
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  finish({ passed: 0, failed: 1 });
}
