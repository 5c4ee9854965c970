// `npm run test:node [-- 24 [vitest's arguments]]`: repeats the tests of memory, lifetimes, workers and packaging on
// the other releases of Node.js, or on one of them. The binaries come from the npm registry and are installed on first
// use.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root, SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';
import { installNode } from './stack/node.mjs';

const RELEASES = [20, 22, 24, 26];
const FILES = [
  'domain/domain-collected',
  'endpoint/endpoint-released',
  'memory-region/memory-region-buffers',
  'memory-region/memory-region-detached',
  'memory-region/memory-region-fallback',
  'memory-region/memory-region-shared',
  'memory-region/memory-region-views',
  'package/package-install',
  'process/process-exit-natural',
  'worker/worker-terminate',
];

/** Runs the tests on a release. Returns their counts. */
function runOn(release) {
  const program = installNode(release);
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-node-'));
  const tallyFile = join(folder, 'tally.json'); // test/reporter.ts writes it
  const files = FILES.map((name) => `test/${name}.test.ts`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const { status } = spawnSync(program, [vitest, 'run', ...files, ...args], {
    cwd: root,
    env: {
      ...process.env,
      PATH: `${dirname(program)}:${process.env.PATH}`,
      LIBFABRIC_TEST_TALLY: tallyFile,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const tally = existsSync(tallyFile) ? JSON.parse(readFileSync(tallyFile, 'utf8')) : undefined;
  rmSync(folder, { recursive: true, force: true });
  const { passed = 0, failed = 0, skipped = 0, complete = false } = tally ?? {};
  const early = !complete || (status !== 0 && failed === 0) ? 1 : 0;
  if (early) console.log(`failed: vitest ended early on Node.js ${release}`);
  console.log(`Node.js ${release}: ${passed} passed, ${failed + early} failed`);
  sum.passed += passed;
  sum.failed += failed + early;
  sum.skipped += skipped;
}

const [first, ...rest] = process.argv.slice(2);
const one = RELEASES.includes(Number(first));
const running = Number.parseInt(process.versions.node, 10); // `npm test` runs on this one
const releases = one ? [Number(first)] : RELEASES.filter((release) => release !== running);
// Several releases in turn run only the tests of the default driver. A single release runs all drivers.
const DEFAULT_DRIVER = ['-t', "^(?!.*(loop|manual)'? driver)"];
const args = one ? rest : [...DEFAULT_DRIVER, ...process.argv.slice(2)];

const sum = { passed: 0, failed: 0, skipped: 0 };

try {
  setup();
  for (const release of releases) runOn(release);
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.log(`failed: ${error.message}`);
  sum.failed += 1;
}
const skipped = sum.skipped > 0 ? `, ${sum.skipped} skipped` : '';
console.log(`${sum.passed} passed, ${sum.failed} failed${skipped}`);
process.exitCode = sum.failed === 0 ? 0 : 1;
