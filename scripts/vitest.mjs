// Runs vitest over test files.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { root } from './setup/step.mjs';

/** The arguments of vitest that leave test files out. */
export const without = (...files) => files.map((each) => `--exclude=${each}`);

/** Leaves out tests that do not depend on the addon, that build with sanitizers themselves, or that take its times. */
export const ONLY_THE_ADDON = without(
  'test/documents/documents-commands.test.ts',
  'test/engine/engine-native.unit.test.ts',
  'test/package/**',
  'test/process/process-ends.test.ts',
  'test/softefa/softefa-verbs.test.ts',
);

/** Also leaves out the documents and the command line, whose tests take as long as all others together. */
export const ONLY_THE_LIBRARY = [...ONLY_THE_ADDON, ...without('test/cli/**', 'test/documents/**')];

/** Splits `--times FILE` from the arguments of vitest. */
function takeTimes(args) {
  const at = args.indexOf('--times');
  if (at < 0) return { rest: args, times: {} };
  return {
    rest: args.toSpliced(at, 2),
    times: { LIBFABRIC_TEST_TIMES: resolve(args[at + 1] ?? 'times.txt') },
  };
}

/** Builds test/programs/without-kallsyms.c and returns its path: libfabric 1.17 loads in 20 instead of 95 ms of CPU time. */
function withoutKallsyms() {
  const folder = join(root, 'build/tests');
  const library = join(folder, 'without-kallsyms.so');
  const unfinished = `${library}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  const source = join(root, 'test/programs/without-kallsyms.c');
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  execFileSync('gcc', ['-shared', '-fPIC', '-O1', ...warnings, '-o', unfinished, source]);
  renameSync(unfinished, library); // another run may have it loaded
  return library;
}

/** Runs vitest, on another Node.js if `node` names one. Returns the tally that test/reporter.ts writes. */
export async function vitest(args, env = {}, node = process.execPath) {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-test-'));
  const tallyFile = join(folder, 'tally.json');
  const { rest, times } = takeTimes(args);
  const child = spawn(node, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...rest], {
    cwd: root,
    env: {
      ...process.env,
      PATH: `${dirname(node)}:${process.env.PATH}`,
      // Each of about 1,000 processes would read the certificates at its start, for 40 ms.
      NODE_EXTRA_CA_CERTS: undefined,
      LIBFABRIC_TEST_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
      LD_PRELOAD: [process.env.LD_PRELOAD, withoutKallsyms()].filter(Boolean).join(' '),
      ...env,
      ...times,
      LIBFABRIC_TEST_TALLY: tallyFile,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  process.on('SIGINT', () => {}); // a terminal also sends it to vitest
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const [status, signal] = await once(child, 'close');
  let tally = { passed: 0, failed: 0, complete: false };
  try {
    tally = JSON.parse(readFileSync(tallyFile, 'utf8'));
  } catch {
    // vitest ended before it ran a test.
  }
  rmSync(folder, { recursive: true, force: true });
  if (!tally.complete || (status !== 0 && tally.failed === 0)) {
    console.log(
      `failed: vitest ended early or reported an error: ${signal ?? `exit status ${status}`}`,
    );
    tally.failed += 1;
  }
  return tally;
}
