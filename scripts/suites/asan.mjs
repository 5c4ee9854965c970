// `npm run suite -- asan [vitest's arguments]`: runs the suite with an addon that is built with
// AddressSanitizer and UndefinedBehaviorSanitizer in build-asan/. Each process that ends by itself is also checked for
// leaks. The reports of the sanitizers follow the tests.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { nodeHeadersPrefix } from '../setup/native.mjs';
import { announce, root, run, SetupError } from '../setup/step.mjs';
import { CMAKE, systemPackages } from '../setup/system.mjs';
import { setup } from '../setup.mjs';
import { sum } from '../tally.mjs';
import { ONLY_THE_ADDON, vitest } from '../vitest.mjs';

const CONFIG = 'RelWithDebInfo';
const out = join(root, 'build-asan');

// The sanitizer must be loaded before everything else, because node itself is not built with it.
function runtimeLibrary(name) {
  const file = execFileSync(process.env.CXX ?? 'g++', [`-print-file-name=${name}`], {
    encoding: 'utf8',
  }).trim();
  if (!isAbsolute(file))
    throw new SetupError(`the compiler has no ${name}: install its sanitizers`);
  return file;
}

/** Builds the addon. Returns the environment of processes that use it. */
async function build(reports) {
  await setup();
  await systemPackages([CMAKE]);
  announce('building the instrumented addon');
  const prefix = nodeHeadersPrefix(); // if set, cmake-js does not download Node's headers
  const cmakeJs = join(root, 'node_modules/cmake-js/bin/cmake-js');
  const options = ['--out', out, '--config', CONFIG, '--CDSANITIZE=ON', '--prefer-make'];
  const env = prefix ? { npm_config_nodedir: prefix } : {};
  await run(process.execPath, [cmakeJs, 'configure', ...options], {
    env,
    what: 'cmake-js configure',
  });
  const parallel = ['--parallel', String(Math.min(availableParallelism(), 8))];
  await run(process.execPath, [cmakeJs, 'build', ...options, ...parallel], {
    env,
    what: 'cmake-js build',
  });
  return {
    LIBFABRIC_TESTS: 'all',
    LIBFABRIC_ADDON_DIR: join(out, CONFIG),
    // libstdc++ as well, because the sanitizer looks up __cxa_throw when it starts.
    LD_PRELOAD: `${runtimeLibrary('libasan.so')} ${runtimeLibrary('libstdc++.so.6')}`,
    ASAN_OPTIONS: `detect_leaks=1:quarantine_size_mb=32:abort_on_error=1:disable_coredump=1:allocator_may_return_null=1:log_path=${reports}/report`,
    LSAN_OPTIONS: 'exitcode=0:print_suppressions=0', // for leaks of Node and libfabric
    UBSAN_OPTIONS: 'print_stacktrace=1:abort_on_error=1',
  };
}

/** Whether a paragraph of a report is about memory that the addon has lost. */
function isOurLeak(paragraph) {
  const [above, ...others] = paragraph.split('/native/');
  return others.length > 0 && !above.includes('node+0x'); // Node, which the addon calls, frees little when it exits
}

/** Prints the reports of all processes. Returns how many checks have passed and failed. */
function readReports(reports) {
  let failed = 0;
  for (const name of readdirSync(reports)) {
    const report = readFileSync(join(reports, name), 'utf8');
    const ofLeaks = report.includes('LeakSanitizer: detected memory leaks');
    // An error has ended its process, which fails a test unless the test expects a crash of the provider.
    const printed = ofLeaks ? report.split('\n\n').filter(isOurLeak) : [report];
    for (const each of printed) console.log(`${each.trim()}\n`);
    if (ofLeaks && printed.length > 0) failed += 1;
  }
  rmSync(reports, { recursive: true });
  if (failed > 0) console.log(`failed: ${failed} processes have lost memory of the addon`);
  return { passed: 0, failed };
}

export default async function asan(args) {
  const reports = mkdtempSync(join(tmpdir(), 'libfabric-asan-'));
  const env = await build(reports);
  const slower = ['--testTimeout=120000', '--hookTimeout=120000'];
  const tally = await vitest([...slower, ...ONLY_THE_ADDON, ...args], env);
  return sum(tally, readReports(reports));
}
