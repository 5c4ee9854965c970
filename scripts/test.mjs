// `npm test [-- vitest's arguments]`: runs the setup and then the whole suite. `npm run test:unit` and the other
// tiers run a part of it. The last line is always `N passed, N failed[, N skipped]`.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root, SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';

/** Prints the last line and ends with the matching exit status. */
export function finish({ passed, failed, skipped = 0 }) {
  console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed === 0 ? 0 : 1;
}

const sum = (one, other) => ({
  passed: one.passed + other.passed,
  failed: one.failed + other.failed,
  skipped: (one.skipped ?? 0) + other.skipped,
});

/** Runs a preparation. If it fails, prints the reason, ends with the last line and returns undefined. */
export function prepare(steps) {
  try {
    return steps() ?? {};
  } catch (error) {
    console.error(error instanceof SetupError ? error.message : error);
    finish({ passed: 0, failed: 1 });
    return undefined;
  }
}

const UNIT = 'test/**/*.unit.test.ts';
const without = (...files) => files.map((each) => `--exclude=${each}`);

/** The arguments of vitest for each tier: parts of file names, and exclusions. */
const TIERS = {
  unit: ['.unit.test.ts'],
  provider: without(UNIT, 'test/cli/**', 'test/documents/**', 'test/package/**'),
  cli: ['test/cli/', ...without(UNIT)],
  package: ['test/documents/', 'test/package/', ...without(UNIT)],
};

/** The arguments of a command line, with `--tier NAME` replaced by the arguments of the tier. */
function withoutTier(args) {
  if (args[0] !== '--tier') return args;
  const [, name, ...others] = args;
  return [...TIERS[name], ...others];
}

/**
 * Excludes tests that do not depend on the addon, that build with sanitizers themselves, that repeat the
 * tests of the command line, or that measure times of the addon.
 */
export const ONLY_THE_ADDON = without(
  'test/documents/documents-commands.test.ts',
  'test/engine/engine-native.unit.test.ts',
  'test/package/**',
  'test/process/process-ends.test.ts',
  'test/softefa/softefa-verbs.test.ts',
);

/** Also excludes the documents and the command line, whose tests take as long as all others together. */
export const ONLY_THE_LIBRARY = [...ONLY_THE_ADDON, ...without('test/cli/**', 'test/documents/**')];

/** Runs vitest over the suite and ends with the last line. `more()` may add its counts to that line. */
export function runSuite(args, env = {}, more = undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-test-'));
  const tallyFile = join(folder, 'tally.json'); // test/reporter.ts writes it
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    cwd: root,
    env: { ...process.env, ...env, LIBFABRIC_TEST_TALLY: tallyFile },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  process.on('SIGINT', () => {}); // a terminal also sends it to vitest
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('close', async (status, signal) => {
    let tally = { passed: 0, failed: 0, complete: false };
    try {
      tally = JSON.parse(readFileSync(tallyFile, 'utf8'));
    } catch {
      // vitest ended before it ran a test.
    }
    rmSync(folder, { recursive: true, force: true });
    if (!tally.complete || (status !== 0 && tally.failed === 0)) {
      console.error(
        `vitest ended early or reported an error: ${signal ?? `exit status ${status}`}`,
      );
      tally.failed += 1;
    }
    finish(more ? sum(tally, await more()) : tally);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (prepare(setup)) runSuite(withoutTier(process.argv.slice(2)));
}
