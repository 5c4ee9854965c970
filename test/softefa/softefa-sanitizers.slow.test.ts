// Runs the C++ tests of test/softefa/ with sanitizers.
import { expect, test } from 'vitest';
import {
  BUILD_LIMIT_MS,
  build,
  LIMIT_MS,
  type Mode,
  runTests,
  unavailable,
  type Variant,
} from '../support/native-tests.js';

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
    const { ok, output } = await runTests(variant, mode);
    expect(ok, output.replace(/^ok .*\n/gm, '')).toBe(true);
  },
);
