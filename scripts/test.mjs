// `npm test [-- vitest's arguments]`: the setup, then the whole suite; `npm run test:unit` and the others run
// a tier of it. Whatever happens, the last line is `N passed, N failed[, N skipped]`.
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

/** What vitest takes for each tier: parts of files' names, and what to leave out. */
const TIERS = {
  unit: ['.unit.test.ts'],
  provider: without(UNIT, 'test/cli/**', 'test/documents/**', 'test/package/**'),
  cli: ['test/cli/', ...without(UNIT)],
  package: ['test/documents/', 'test/package/', ...without(UNIT)],
};

/** The arguments of a command line, with `--tier NAME` as what it stands for. */
function withoutTier(args) {
  if (args[0] !== '--tier') return args;
  const [, name, ...others] = args;
  return [...TIERS[name], ...others];
}

/**
 * Leaves out what does not depend on the addon, builds with sanitizers itself, repeats what the tests
 * of the command line do, or holds the addon to times.
 */
export const ONLY_THE_ADDON = without(
  'test/documents/documents-commands.test.ts',
  'test/engine/engine-native.unit.test.ts',
  'test/package/**',
  'test/process/process-ends.test.ts',
  'test/softefa/softefa-verbs.test.ts',
);

/** Leaves out the command line, too, whose tests take as long as all the others, and the documents. */
export const ONLY_THE_LIBRARY = [...ONLY_THE_ADDON, ...without('test/cli/**', 'test/documents/**')];

/** Runs vitest over the suite and ends with the last line, to which `more()` may add what it has counted. */
export function runSuite(args, env = {}, more = undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-test-'));
  const tallyFile = join(folder, 'tally.json'); // test/reporter.ts writes it
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    cwd: root,
    env: { ...process.env, ...env, LIBFABRIC_TEST_TALLY: tallyFile },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  process.on('SIGINT', () => {}); // a terminal sends it to vitest as well
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
