// Runs the C++ tests of test/softefa/, which use softefa through libibverbs: one by one in a plain build, and
// all together with sanitizers.
import { describe, expect, test } from 'vitest';
import {
  BUILD_LIMIT_MS,
  build,
  LIMIT_MS,
  type Mode,
  type Outcome,
  runTests,
  testNames,
  unavailable,
  type Variant,
} from '../support/native-tests.js';

function expectSuccess({ ok, output }: Outcome) {
  const failures = output.replace(/^ok .*\n/gm, '');
  expect(ok, failures).toBe(true);
}

await build('plain');
const names = await testNames();

describe.each<Mode>(['synchronous', 'asynchronous'])('softefa, %s', (mode) => {
  // A test that hangs ends itself after a minute.
  const tests = names.map((name) => [name.replaceAll('_', ' '), name] as const);
  test.for(tests)('%s', { timeout: 90_000 }, async ([, name]) => {
    expectSuccess(await runTests('plain', mode, [name]));
  });
});

test.for<[Mode, string, Variant]>([
  ['synchronous', 'errors of memory or undefined behaviour', 'asan'],
  ['asynchronous', 'errors of memory or undefined behaviour', 'asan'],
  ['asynchronous', 'data races', 'tsan'],
])(
  'softefa, %s, has no %s',
  { timeout: BUILD_LIMIT_MS + LIMIT_MS },
  async ([mode, , variant], context) => {
    const reason = await unavailable(variant);
    if (reason !== undefined) context.skip(reason);
    await build(variant);
    expectSuccess(await runTests(variant, mode));
  },
);
