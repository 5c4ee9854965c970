// Runs the C++ tests of test/engine/*.cc that have two threads under ThreadSanitizer.
import { expect, test } from 'vitest';
import { build, runUnitTests, testNames, unavailable } from '../support/native-tests.js';

test('ThreadSanitizer finds no data races', async (context) => {
  const reason = await unavailable('tsan', 'engine');
  if (reason !== undefined) context.skip(reason);
  await build('plain', 'engine');
  const names = await testNames('engine');
  await build('tsan', 'engine');
  const { ok, output } = await runUnitTests(
    'tsan',
    names.filter((name) => name.includes('thread')),
  );
  expect(ok, output.replace(/^ok .*\n/gm, '')).toBe(true);
});
