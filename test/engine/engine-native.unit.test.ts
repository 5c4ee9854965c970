// Runs the C++ tests of test/engine/*.cc, which need no provider. Those with two threads also run under
// ThreadSanitizer.
import { expect, test } from 'vitest';
import { build, runUnitTests, testNames, unavailable } from '../support/native-tests.js';

await build('plain', 'engine');
const names = await testNames('engine');

test.for(names.map((name) => [name.replaceAll('_', ' '), name] as const))(
  '%s',
  async ([, name]) => {
    const { ok, output } = await runUnitTests('plain', [name]);
    expect(ok, output).toBe(true);
  },
);

test('ThreadSanitizer finds no data races', async (context) => {
  const reason = await unavailable('tsan', 'engine');
  if (reason !== undefined) context.skip(reason);
  await build('tsan', 'engine');
  const { ok, output } = await runUnitTests(
    'tsan',
    names.filter((name) => name.includes('thread')),
  );
  expect(ok, output.replace(/^ok .*\n/gm, '')).toBe(true);
});
